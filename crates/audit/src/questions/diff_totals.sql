-- Sums of the interactions of some days (UTC), of robots and of all others.
--
-- robot bigint: 1 for a user agent that was judged a robot, else 0.
-- visits bigint: Interactions.
-- contacts bigint: Distinct contacts that the source has a row for.
-- pages bigint: Page views.
-- single bigint: Interactions with at most one page.
-- converted bigint: Interactions with a goal or an outcome.
-- raw_bytes bigint (bytes): Their rows in the source.
WITH of_contacts AS (
  SELECT
    CASE WHEN i.ua_id IN (:robots) THEN 1 ELSE 0 END AS robot,
    i.contact_id,
    count(*) AS visits,
    sum(i.pages) AS pages,
    sum(CASE WHEN i.pages <= 1 THEN 1 ELSE 0 END) AS single,
    sum(CASE WHEN i.goals > 0 OR i.outcomes > 0 THEN 1 ELSE 0 END) AS converted,
    sum(i.raw_bytes) AS raw_bytes
  FROM interactions i
  WHERE :all_days = 1 OR (i.start_utc >= :from_ms AND i.start_utc < :to_ms)
  GROUP BY CASE WHEN i.ua_id IN (:robots) THEN 1 ELSE 0 END, i.contact_id
)
SELECT
  o.robot,
  sum(o.visits) AS visits,
  sum(CASE WHEN c.recorded THEN 1 ELSE 0 END) AS contacts,
  sum(o.pages) AS pages,
  sum(o.single) AS single,
  sum(o.converted) AS converted,
  sum(o.raw_bytes) AS raw_bytes
FROM (SELECT contact_id, recorded FROM contacts) c
RIGHT JOIN of_contacts o ON c.contact_id = o.contact_id
GROUP BY o.robot
