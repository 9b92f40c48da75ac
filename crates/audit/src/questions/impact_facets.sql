-- Facets of interactions, of robots and of all others. The events are in the rows of the interactions.
--
-- robot bigint: 1 for a user agent that was judged a robot, else 0.
-- bytes bigint (bytes): Their text in UTF-8.
WITH of_visits AS (
  SELECT f.owner_id, sum(f.bytes_utf8) AS bytes
  FROM terms t
  JOIN facets f ON t.term_id = f.facet_key
  WHERE f.owner_kind = 'interaction' AND t.text <> 'Events'
  GROUP BY f.owner_id
)
SELECT
  CASE WHEN i.ua_id IN (:robots) THEN 1 ELSE 0 END AS robot,
  sum(o.bytes) AS bytes
FROM (SELECT interaction_id, ua_id FROM interactions) i
RIGHT JOIN of_visits o ON i.interaction_id = o.owner_id
GROUP BY CASE WHEN i.ua_id IN (:robots) THEN 1 ELSE 0 END
