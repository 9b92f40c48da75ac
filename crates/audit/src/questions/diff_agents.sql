-- Interactions of some days (UTC) by user agent.
--
-- user_agent text: The user agent; none where the source has none.
-- robot bigint: 1 when it was judged a robot, else 0.
-- visits bigint: Interactions.
-- pages bigint: Page views.
WITH sums AS (
  SELECT i.ua_id, count(*) AS visits, sum(i.pages) AS pages
  FROM interactions i
  WHERE :all_days = 1 OR (i.start_utc >= :from_ms AND i.start_utc < :to_ms)
  GROUP BY i.ua_id
)
SELECT
  u.text AS user_agent,
  CASE WHEN s.ua_id IN (:robots) THEN 1 ELSE 0 END AS robot,
  s.visits,
  s.pages
FROM sums s
LEFT JOIN user_agents u ON u.ua_id = s.ua_id
