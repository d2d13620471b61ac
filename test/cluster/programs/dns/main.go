// Command dns answers names for the pods of the test cluster: it is CoreDNS with the
// few plugins that a cluster needs, and none of the clouds' that upstream's own build
// brings along.
//
// It runs as a process of the machine beside the other programs, listens on the pods'
// bridge and is started by package node, which also writes its configuration. It must
// never hold anything of our own; see programs/kubernetes for why.
package main

import (
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/template"
)

func main() {
	coremain.Run()
}
