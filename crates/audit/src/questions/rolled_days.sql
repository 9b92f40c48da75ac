-- As bloat_days, from the store's sums: without labels.
--
-- day_number bigint: Days since 1970-01-01.
-- bytes bigint (bytes): Their text in UTF-8.
SELECT
  CAST(floor(r.day / 86400000e0) AS BIGINT) AS day_number,
  sum(bytes_utf8) AS bytes
FROM rollup_facet_days r
GROUP BY CAST(floor(r.day / 86400000e0) AS BIGINT)
