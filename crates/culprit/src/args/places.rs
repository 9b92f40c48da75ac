//! The forms of a place, as help tells them.

/// What may be given where a place is wanted.
pub(super) const FORMS: &str = "\
host, host:/dir         this machine, in the current folder or in /dir
sandbox, sandbox:/dir   own namespaces over an overlay on the host's root
docker:IMAGE            a new container; with options separated by commas: volume=/src:/dst
                        net=host|bridge|none publish=PORT cpus=0.5 memory=512m workdir=/dst
docker:@host            a new container without an image: the host's programs in it, but
                        none of its other folders; volume=$PWD:$PWD,workdir=$PWD adds one
podman:IMAGE            as docker
container:NAME          a container that runs";
