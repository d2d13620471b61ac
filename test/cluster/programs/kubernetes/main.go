// Command kubernetes is every Kubernetes program of the test cluster in one file.
//
// It takes the name it was called by (a symbolic link), or else its first argument, as
// the program to be: kube-apiserver, kube-controller-manager, kube-scheduler,
// kube-proxy, kubelet or kubectl. They are upstream's own programs, unchanged; one
// binary shares the code that six would repeat, and takes one build instead of six.
//
// It must never hold anything of our own: building it takes minutes, and package
// prepare keeps the result under a hash of this folder and of go.mod. What we decide
// about the cluster lives in package node.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	_ "time/tzdata" // a CronJob may name a time zone, and a bare machine may have none

	"github.com/spf13/cobra"

	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// programs are the servers. Each command is made only when it is wanted, because
// making one registers flags and feature gates for the whole process.
var programs = map[string]func() *cobra.Command{
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": controllermanager.NewControllerManagerCommand,
	"kube-proxy":              proxy.NewProxyCommand,
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	"kubelet":                 func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) },
}

func main() {
	name := filepath.Base(os.Args[0])
	if !known(name) && len(os.Args) > 1 {
		// The programs read os.Args themselves, so the name must come to stand first.
		os.Args = os.Args[1:]
		name = os.Args[0]
	}
	if !known(name) {
		fmt.Fprintf(os.Stderr, "k8s: no program is called %q; call it as, or with, one of: %s\n", name, names())
		os.Exit(2)
	}
	if name == "kubectl" {
		runKubectl()
		return
	}
	os.Exit(cli.Run(programs[name]()))
}

// runKubectl is upstream's main: the verbosity is read early, since plugins and the
// user's preferences are looked at before the flags are.
func runKubectl() {
	if _, err := logs.GlogSetter(kubectl.GetLogVerbosity(os.Args)); err != nil {
		kubectlutil.CheckErr(err)
	}
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
}

func known(name string) bool {
	_, ok := programs[name]
	return ok || name == "kubectl"
}

func names() string {
	all := []string{"kubectl"}
	for name := range programs {
		all = append(all, name)
	}
	sort.Strings(all)
	return strings.Join(all, ", ")
}
