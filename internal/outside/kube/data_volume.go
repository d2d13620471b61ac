package kube

import "slices"

// DataVolumes names the volumes of the workload's pods that are claims, and so outlive a
// pod: those of the pod template, and those that a StatefulSet makes for each of its pods,
// which show by being mounted without standing there.
func (w Workload) DataVolumes() []string {
	var out, named []string
	for _, v := range w.template.Spec.Volumes {
		named = append(named, v.Name)
		if v.PersistentVolumeClaim != nil {
			out = append(out, v.Name)
		}
	}
	if w.Kind == KindStatefulSet {
		for _, c := range slices.Concat(w.template.Spec.InitContainers, w.template.Spec.Containers) {
			for _, m := range c.VolumeMounts {
				if !slices.Contains(named, m.Name) {
					out = append(out, m.Name)
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
