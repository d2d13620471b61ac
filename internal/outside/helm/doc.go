// Package helm installs, upgrades and removes the charts of applications, through Helm's
// SDK. What a team asked for beyond the chart's values (an image, replicas, environment
// variables, a stopped component) and our labels are put in after the chart is rendered,
// so that any chart will do.
//
// It waits for the chart's own hooks and for nothing else: readiness is package kube's. It
// must never let Helm log or say what it was given: values, manifests and the messages of
// the API server can hold what a team would not show, so every error passes the redactor.
package helm
