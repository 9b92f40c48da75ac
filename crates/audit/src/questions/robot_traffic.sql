-- Requests of each group, from access logs.
--
-- first_key bigint: As in robot_groups.
-- second_key bigint: As in robot_groups.
-- requests bigint: Requests.
-- assets bigint: Requests for images, styles, scripts, fonts, media.
-- pages bigint: Page views.
-- heads bigint: Requests with the method HEAD.
-- client_errors bigint: Answers with a status from 400 to 499.
-- robots_txt bigint: Interactions that fetched /robots.txt.
WITH requests AS (
  SELECT
    :first_key AS first_key,
    :second_key AS second_key,
    i.pages,
    t.requests,
    t.assets,
    t.heads,
    t.client_errors,
    t.robots_txt
  FROM traffic t
  JOIN interactions i ON t.interaction_id = i.interaction_id
  :joined
)
SELECT
  first_key,
  second_key,
  sum(requests) AS requests,
  sum(assets) AS assets,
  sum(pages) AS pages,
  sum(heads) AS heads,
  sum(client_errors) AS client_errors,
  sum(CASE WHEN robots_txt > 0 THEN 1 ELSE 0 END) AS robots_txt
FROM requests
GROUP BY first_key, second_key
