-- Long values by what they look like.
--
-- junk text: Classes, joined by +.
-- value_count bigint: Values.
-- bytes bigint (bytes): Their size in UTF-8.
WITH sums AS (
  SELECT junk, count(*) AS value_count, sum(bytes_utf8) AS bytes
  FROM long_values
  WHERE junk IS NOT NULL
  GROUP BY junk
)
SELECT t.text AS junk, s.value_count, s.bytes
FROM sums s
JOIN terms t ON t.term_id = s.junk
