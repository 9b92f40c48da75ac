-- As bloat_sizes, from the store's sums: without labels.
--
-- facet_key text: Name of the facet.
-- owner_kind text: contact or interaction.
-- bytes bigint (bytes): Size of the text in UTF-8.
-- facets bigint: Facets of that size.
-- bytes_utf16 bigint (bytes): Their bytes in UTF-16.
WITH sizes AS (
  SELECT
    facet_key,
    owner_kind,
    bytes_utf8,
    sum(r.facets) AS facets,
    sum(bytes_utf16) AS bytes_utf16
  FROM rollup_facets r
  GROUP BY facet_key, owner_kind, bytes_utf8
)
SELECT t.text AS facet_key, s.owner_kind, s.bytes_utf8 AS bytes, s.facets, s.bytes_utf16
FROM terms t
JOIN sizes s ON t.term_id = s.facet_key
