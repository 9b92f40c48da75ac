-- Interactions of some days (UTC) by place, from the sums of the days. Those without a start are in
-- none of them.
--
-- country text: Country; none where unknown.
-- region text: Region; none where unknown.
-- city text: City; none where unknown.
-- postal text: Postal code; none where unknown.
-- visits bigint: Interactions.
-- pages bigint: Page views.
WITH sums AS (
  SELECT r.place_id, sum(r.sessions) AS visits, sum(r.pages) AS pages
  FROM rollup_day r
  WHERE (:all_days = 1 OR (r.day >= :from_ms AND r.day < :to_ms))
    AND (:labelled = 1 OR r.label IS NULL)
  GROUP BY r.place_id
)
SELECT
  p.country AS country,
  p.region AS region,
  p.city AS city,
  p.postal AS postal,
  sum(s.visits) AS visits,
  sum(s.pages) AS pages
FROM sums s
LEFT JOIN places p ON p.place_id = s.place_id
GROUP BY p.country, p.region, p.city, p.postal
