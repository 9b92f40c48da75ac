-- Contacts by what would be left of them: one row.
--
-- contacts bigint: Contacts that the source has a row for.
-- kept bigint: Those with an interaction that is no robot's.
-- robots_only bigint: Those with interactions of robots alone.
-- without bigint: Those without any interaction.
-- facets_bytes bigint (bytes): Facets of all contacts, also of those without a row.
-- kept_bytes bigint (bytes): Facets of those that would be kept.
WITH counted AS (
  SELECT
    i.contact_id,
    sum(CASE WHEN i.ua_id IN (:robots) THEN 0 ELSE 1 END) AS others
  FROM interactions i
  GROUP BY i.contact_id
)
SELECT
  sum(CASE WHEN c.recorded THEN 1 ELSE 0 END) AS contacts,
  sum(CASE WHEN c.recorded AND v.others > 0 THEN 1 ELSE 0 END) AS kept,
  sum(CASE WHEN c.recorded AND v.others = 0 THEN 1 ELSE 0 END) AS robots_only,
  sum(CASE WHEN c.recorded AND v.others IS NULL THEN 1 ELSE 0 END) AS without,
  sum(c.facets_bytes) AS facets_bytes,
  sum(
    CASE
      WHEN v.others > 0 THEN c.facets_bytes
      WHEN v.others IS NULL AND NOT c.recorded THEN c.facets_bytes
      ELSE 0
    END
  ) AS kept_bytes
FROM counted v
RIGHT JOIN contacts c ON v.contact_id = c.contact_id
