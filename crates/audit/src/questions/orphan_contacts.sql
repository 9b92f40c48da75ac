-- Contacts against the interactions that name them: one row.
--
-- contacts bigint: Contacts that the source has a row for.
-- without bigint: Those without an interaction (O1).
-- without_known bigint: Those of O1 that the source knows by name.
-- without_bytes bigint (bytes): The facets of O1.
-- unrecorded bigint: Contacts that only interactions name (O2).
-- unrecorded_visits bigint: The interactions of O2.
-- reported bigint: Contacts with a reported total.
-- wrong_total bigint: Those whose reported total is not the counted one (O4).
-- reported_more bigint: Interactions that O4 reports and nobody counts.
-- reported_less bigint: Interactions that O4 does not report.
-- in_several_shards bigint: Contacts with a row in several shards.
WITH counted AS (
  SELECT contact_id, count(*) AS visits FROM interactions GROUP BY contact_id
),
joined AS (
  SELECT
    c.recorded,
    c.known,
    c.facets_bytes,
    c.shards,
    CAST(c.reported_interactions AS BIGINT) AS reported,
    coalesce(v.visits, 0) AS visits
  FROM counted v
  RIGHT JOIN contacts c ON v.contact_id = c.contact_id
)
SELECT
  sum(CASE WHEN recorded THEN 1 ELSE 0 END) AS contacts,
  sum(CASE WHEN recorded AND visits = 0 THEN 1 ELSE 0 END) AS without,
  sum(CASE WHEN recorded AND visits = 0 AND known THEN 1 ELSE 0 END) AS without_known,
  sum(CASE WHEN recorded AND visits = 0 THEN facets_bytes ELSE 0 END) AS without_bytes,
  sum(CASE WHEN NOT recorded AND visits > 0 THEN 1 ELSE 0 END) AS unrecorded,
  sum(CASE WHEN NOT recorded THEN visits ELSE 0 END) AS unrecorded_visits,
  sum(CASE WHEN recorded AND reported IS NOT NULL THEN 1 ELSE 0 END) AS reported,
  sum(CASE WHEN recorded AND reported <> visits THEN 1 ELSE 0 END) AS wrong_total,
  sum(CASE WHEN recorded AND reported > visits THEN reported - visits ELSE 0 END) AS reported_more,
  sum(CASE WHEN recorded AND reported < visits THEN visits - reported ELSE 0 END) AS reported_less,
  sum(CASE WHEN shards > 1 THEN 1 ELSE 0 END) AS in_several_shards
FROM joined
