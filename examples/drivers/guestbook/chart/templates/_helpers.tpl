{{/* The name that every object begins with: the release's, unless it says guestbook already. */}}
{{- define "guestbook.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* The labels by which a component's pods are found. They never change, as a Deployment's selector must not. */}}
{{- define "guestbook.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "guestbook.labels" -}}
{{ include "guestbook.selector" . }}
app.kubernetes.io/part-of: {{ .root.Chart.Name }}
app.kubernetes.io/version: {{ .root.Values.appVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{/*
The image of web or worker. A reference has a tag if a colon follows its last slash (one
before it is a registry's port), and a digest if it holds an @.
*/}}
{{- define "guestbook.image" -}}
{{- $image := .values.image | default .root.Values.image -}}
{{- if or (contains "@" $image) (contains ":" (last (splitList "/" $image))) -}}
{{- $image -}}
{{- else -}}
{{- printf "%s:%s" $image .root.Values.appVersion -}}
{{- end -}}
{{- end -}}

{{/*
The environment of web or worker: what both share, with the component's own in its place
where it has the same name. A name may not come twice, which server-side apply refuses.
*/}}
{{- define "guestbook.env" -}}
{{- $name := include "guestbook.fullname" .root -}}
{{- $shared := dict "STORE_URL" (printf "http://%s-store:8081" $name) "WEB_URL" (printf "http://%s-web" $name) "LOG_LEVEL" .root.Values.logLevel -}}
{{- with .root.Values.adminEmail -}}
{{- $shared = set $shared "ADMIN_EMAIL" . -}}
{{- end -}}
{{- range $key, $value := merge (deepCopy (.values.env | default dict)) $shared }}
- name: {{ $key }}
  value: {{ $value | quote }}
{{- end }}
{{ include "guestbook.password" .root }}
{{- end -}}

{{- define "guestbook.password" -}}
{{- with .Values.existingSecret -}}
- name: DATABASE_PASSWORD
  valueFrom:
    secretKeyRef:
      name: {{ . }}
      key: DATABASE_PASSWORD
{{- end -}}
{{- end -}}

{{- define "guestbook.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "guestbook.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end -}}
