-- As orphan_facets, with the totals from the store's sums: without labels.
--
-- owner_kind text: contact or interaction.
-- facets bigint: All facets of such owners; events are part of an interaction's row.
-- orphans bigint: Those whose owner has no row.
-- orphan_bytes bigint (bytes): Their text in UTF-8.
WITH gone AS (
  SELECT 'contact' AS owner_kind, contact_id AS owner_id
  FROM contacts
  WHERE NOT recorded
  UNION ALL
  SELECT 'interaction', interaction_id
  FROM interaction_ids
  WHERE source_row = 0
),
lone AS (
  SELECT f.owner_kind, count(*) AS orphans, sum(f.bytes_utf8) AS orphan_bytes
  FROM gone g
  JOIN facets f ON g.owner_id = f.owner_id AND g.owner_kind = f.owner_kind
  GROUP BY f.owner_kind
),
kinds AS (
  SELECT 'contact' AS owner_kind, CAST(0 AS BIGINT) AS facets
  UNION ALL
  SELECT 'interaction', CAST(0 AS BIGINT)
  UNION ALL
  SELECT owner_kind, CAST(r.facets AS BIGINT)
  FROM rollup_facets r
  WHERE owner_kind = 'contact' OR facet_key NOT IN (
    SELECT term_id FROM terms WHERE text = 'Events'
  )
),
totals AS (
  SELECT owner_kind, sum(facets) AS facets
  FROM kinds
  GROUP BY owner_kind
)
SELECT
  t.owner_kind,
  t.facets,
  coalesce(l.orphans, 0) AS orphans,
  coalesce(l.orphan_bytes, 0) AS orphan_bytes
FROM totals t
LEFT JOIN lone l ON l.owner_kind = t.owner_kind
