-- One row an interaction that belongs to a place: the table that the other visit questions use.
--
-- bucket bigint: Number of the day or hour in the zone's time, counted from 1970-01-01; of the
--   week, counted from Monday 1970-01-05.
-- robot bigint: 1 for a user agent that was judged a robot, else 0.
-- contact_id bigint: Whose it is.
-- shard bigint: Its shard.
-- pages bigint: Page views.
-- duration_ms bigint (ms): Its length; none when unknown.
SELECT
  CAST(floor((i.start_utc + :offset - :shift_ms) / :bucket_ms) AS BIGINT) AS bucket,
  CASE WHEN i.ua_id IN (:robots) THEN 1 ELSE 0 END AS robot,
  i.contact_id,
  i.shard,
  CAST(i.pages AS BIGINT) AS pages,
  CAST(i.duration_ms AS BIGINT) AS duration_ms
FROM (
  SELECT DISTINCT contact_id
  FROM interactions
  WHERE :place_key IN (:chosen)
) m
JOIN interactions i ON m.contact_id = i.contact_id
WHERE i.start_utc IS NOT NULL AND (:by_contact = 1 OR i.:place_key IN (:chosen))
