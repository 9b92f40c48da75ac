-- Long values that occur several times.
--
-- facet_key text: Name of the facet.
-- path text: Path inside of it.
-- value_count bigint: Long values.
-- distinct_count bigint: Distinct ones.
-- repeated_bytes bigint (bytes): What all but the first of each take in UTF-8.
WITH texts AS (
  SELECT facet_key, path_id, hash, bytes_utf8, count(*) AS value_count
  FROM long_values
  GROUP BY facet_key, path_id, hash, bytes_utf8
),
sums AS (
  SELECT
    facet_key,
    path_id,
    sum(value_count) AS value_count,
    count(*) AS distinct_count,
    sum((value_count - 1) * bytes_utf8) AS repeated_bytes
  FROM texts
  GROUP BY facet_key, path_id
)
SELECT
  k.text AS facet_key,
  t.text AS path,
  s.value_count,
  s.distinct_count,
  s.repeated_bytes
FROM sums s
JOIN terms k ON k.term_id = s.facet_key
JOIN terms t ON t.term_id = s.path_id
