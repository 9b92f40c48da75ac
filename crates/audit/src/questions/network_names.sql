-- The names of networks.
--
-- network_hash bigint: Hash of the network, by which groups are told apart.
-- network text: The network; none when addresses were imported as hashes.
SELECT a.network_hash, max(a.network) AS network
FROM addresses a
GROUP BY a.network_hash
