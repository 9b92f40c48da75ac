-- Bytes of facets by the day (UTC) of their last change.
--
-- day_number bigint: Days since 1970-01-01.
-- bytes bigint (bytes): Their text in UTF-8.
SELECT
  CAST(floor(last_modified / 86400000e0) AS BIGINT) AS day_number,
  sum(bytes_utf8) AS bytes
FROM facets
WHERE last_modified IS NOT NULL
GROUP BY CAST(floor(last_modified / 86400000e0) AS BIGINT)
