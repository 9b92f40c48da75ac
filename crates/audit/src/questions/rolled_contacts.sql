-- As orphan_contacts, from the store's sums: without labels.
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
SELECT
  sum(CASE WHEN recorded THEN r.contacts ELSE 0 END) AS contacts,
  sum(CASE WHEN recorded AND NOT visited THEN r.contacts ELSE 0 END) AS without,
  sum(CASE WHEN recorded AND NOT visited AND known THEN r.contacts ELSE 0 END) AS without_known,
  sum(CASE WHEN recorded AND NOT visited THEN facets_bytes ELSE 0 END) AS without_bytes,
  sum(CASE WHEN NOT recorded AND visited THEN r.contacts ELSE 0 END) AS unrecorded,
  sum(CASE WHEN NOT recorded THEN interactions ELSE 0 END) AS unrecorded_visits,
  sum(CASE WHEN recorded THEN r.reported ELSE 0 END) AS reported,
  sum(CASE WHEN recorded THEN r.wrong_total ELSE 0 END) AS wrong_total,
  sum(CASE WHEN recorded THEN r.reported_more ELSE 0 END) AS reported_more,
  sum(CASE WHEN recorded THEN r.reported_less ELSE 0 END) AS reported_less,
  sum(r.in_several_shards) AS in_several_shards
FROM rollup_contacts r
