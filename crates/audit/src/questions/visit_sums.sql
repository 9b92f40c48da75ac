-- Sums of each day or hour.
--
-- bucket bigint: As in visit_rows.
-- robot bigint: As in visit_rows.
-- sessions bigint: Interactions.
-- contacts bigint: Distinct contacts.
-- pages bigint: Page views.
-- single bigint: Interactions with at most one page.
WITH of_contacts AS (
  SELECT
    bucket,
    robot,
    contact_id,
    count(*) AS sessions,
    sum(pages) AS pages,
    sum(CASE WHEN pages <= 1 THEN 1 ELSE 0 END) AS single
  FROM visit_rows
  GROUP BY bucket, robot, contact_id
)
SELECT
  bucket,
  robot,
  sum(sessions) AS sessions,
  count(*) AS contacts,
  sum(pages) AS pages,
  sum(single) AS single
FROM of_contacts
GROUP BY bucket, robot
