-- Facets without their owner (O3).
--
-- owner_kind text: contact or interaction.
-- facets bigint: All facets of such owners; events are part of an interaction's row.
-- orphans bigint: Those whose owner has no row.
-- orphan_bytes bigint (bytes): Their text in UTF-8.
WITH of_contacts AS (
  SELECT owner_id, count(*) AS facets, sum(bytes_utf8) AS bytes
  FROM facets
  WHERE owner_kind = 'contact'
  GROUP BY owner_id
),
of_visits AS (
  SELECT owner_id, count(*) AS facets, sum(bytes_utf8) AS bytes
  FROM facets
  WHERE owner_kind = 'interaction' AND facet_key NOT IN (
    SELECT term_id FROM terms WHERE text = 'Events'
  )
  GROUP BY owner_id
),
owned AS (
  SELECT f.facets, f.bytes, CASE WHEN c.recorded THEN 0 ELSE 1 END AS orphan
  FROM contacts c
  RIGHT JOIN of_contacts f ON c.contact_id = f.owner_id
),
visited AS (
  SELECT f.facets, f.bytes, CASE WHEN i.interaction_id IS NULL THEN 1 ELSE 0 END AS orphan
  FROM (SELECT interaction_id FROM interactions) i
  RIGHT JOIN of_visits f ON i.interaction_id = f.owner_id
)
SELECT
  'contact' AS owner_kind,
  sum(facets) AS facets,
  sum(CASE WHEN orphan = 1 THEN facets ELSE 0 END) AS orphans,
  sum(CASE WHEN orphan = 1 THEN bytes ELSE 0 END) AS orphan_bytes
FROM owned
UNION ALL
SELECT
  'interaction',
  sum(facets),
  sum(CASE WHEN orphan = 1 THEN facets ELSE 0 END),
  sum(CASE WHEN orphan = 1 THEN bytes ELSE 0 END)
FROM visited
