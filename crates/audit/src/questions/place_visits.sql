-- Interactions of each place with coordinates, of robots and of all others.
--
-- country varchar: Two letters; none when unknown.
-- city varchar: City; none when unknown.
-- latitude_e6 bigint (millionths of a degree): Latitude.
-- longitude_e6 bigint (millionths of a degree): Longitude.
-- robot bigint: 1 for a user agent that was judged a robot, else 0.
-- visits bigint: Interactions.
SELECT
  p.country AS country,
  p.city AS city,
  p.latitude_e6 AS latitude_e6,
  p.longitude_e6 AS longitude_e6,
  CASE WHEN i.ua_id IN (:robots) THEN 1 ELSE 0 END AS robot,
  count(*) AS visits
FROM interactions i
LEFT JOIN places p ON i.place_id = p.place_id
GROUP BY
  p.country,
  p.city,
  p.latitude_e6,
  p.longitude_e6,
  CASE WHEN i.ua_id IN (:robots) THEN 1 ELSE 0 END
