-- Interactions of each day (UTC), of robots and of all others.
--
-- day_number bigint: Days since 1970-01-01; none for interactions without a start.
-- robot bigint: 1 for a user agent that was judged a robot, else 0.
-- visits bigint: Interactions.
-- pages bigint: Page views.
-- single bigint: Interactions with at most one page.
-- converted bigint: Interactions with a goal or an outcome.
-- raw_bytes bigint (bytes): Their rows in the source.
SELECT
  CAST(floor(i.start_utc / 86400000e0) AS BIGINT) AS day_number,
  CASE WHEN i.ua_id IN (:robots) THEN 1 ELSE 0 END AS robot,
  count(*) AS visits,
  sum(i.pages) AS pages,
  sum(CASE WHEN i.pages <= 1 THEN 1 ELSE 0 END) AS single,
  sum(CASE WHEN i.goals > 0 OR i.outcomes > 0 THEN 1 ELSE 0 END) AS converted,
  sum(i.raw_bytes) AS raw_bytes
FROM interactions i
GROUP BY
  CAST(floor(i.start_utc / 86400000e0) AS BIGINT),
  CASE WHEN i.ua_id IN (:robots) THEN 1 ELSE 0 END
