//! The forms of a place, as help tells them.

/// What may be given where a place is wanted.
pub(super) const FORMS: &str = "\
host, host:/dir         this machine, in the current folder or in /dir
sandbox, sandbox:/dir   new namespaces and an overlay over the host's root
docker:IMAGE            a new container; options are separated by commas: volume=/src:/dst
                        net=host|bridge|none publish=PORT cpus=0.5 memory=512m
                        workdir=/dst
docker:@host            a new container without an image: it has the host's programs,
                        but not its other folders; volume=$PWD:$PWD,workdir=$PWD adds one
podman:IMAGE            like docker
container:NAME          a running container";
