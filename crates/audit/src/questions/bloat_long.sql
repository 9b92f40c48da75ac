-- Long values of each path by size: those of 64 bytes and more.
--
-- facet_key text: Name of the facet.
-- path text: Path inside of it.
-- bytes bigint (bytes): Size in UTF-8.
-- value_count bigint: Values of that size.
WITH sizes AS (
  SELECT facet_key, path_id, bytes_utf8, count(*) AS value_count
  FROM long_values
  GROUP BY facet_key, path_id, bytes_utf8
)
SELECT k.text AS facet_key, t.text AS path, s.bytes_utf8 AS bytes, s.value_count
FROM sizes s
JOIN terms k ON k.term_id = s.facet_key
JOIN terms t ON t.term_id = s.path_id
