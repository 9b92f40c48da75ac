-- Paths inside of facets.
--
-- facet_key text: Name of the facet.
-- path text: Path inside of it.
-- kind text: Kind of the values.
-- value_count bigint: Values.
-- bytes bigint (bytes): Their size in UTF-8.
-- bytes_utf16 bigint (bytes): Their size in UTF-16.
-- max_bytes bigint (bytes): The largest value in UTF-8.
-- elements bigint: Elements of all arrays or objects.
-- max_elements bigint: Elements of the longest.
WITH sums AS (
  SELECT
    facet_key,
    path_id,
    kind,
    sum(p.values) AS value_count,
    sum(bytes_utf8) AS bytes,
    sum(bytes_utf16) AS bytes_utf16,
    max(max_utf8) AS max_bytes,
    sum(elements) AS elements,
    max(max_elements) AS max_elements
  FROM json_paths p
  GROUP BY facet_key, path_id, kind
)
SELECT
  k.text AS facet_key,
  t.text AS path,
  s.kind,
  s.value_count,
  s.bytes,
  s.bytes_utf16,
  s.max_bytes,
  s.elements,
  s.max_elements
FROM sums s
JOIN terms k ON k.term_id = s.facet_key
JOIN terms t ON t.term_id = s.path_id
