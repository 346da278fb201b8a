{{/*
Names follow the export, so that two products of one workspace do not meet. The objects belong to no namespace.
*/}}

{{- define "private-llm-pm.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/name: private-llm-pm-integration
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/part-of: private-llm
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* Labels of what the portal shows for the export. */}}
{{- define "private-llm-pm.shown" -}}
{{ include "private-llm-pm.labels" . }}
ui.platform-mesh.io/content-for: {{ .Values.apiExport.name | quote }}
{{- end }}

{{/* Subjects of a binding, as a JSON list. Takes users and groups. */}}
{{- define "private-llm-pm.subjects" -}}
{{- $subjects := list }}
{{- range .users | uniq }}
  {{- $subjects = append $subjects (dict "apiGroup" "rbac.authorization.k8s.io" "kind" "User" "name" .) }}
{{- end }}
{{- range .groups | uniq }}
  {{- $subjects = append $subjects (dict "apiGroup" "rbac.authorization.k8s.io" "kind" "Group" "name" .) }}
{{- end }}
{{- $subjects | toJson }}
{{- end }}

{{/* Where the operator's chart serves the content, by the same rules as there; a test compares. */}}
{{- define "private-llm-pm.contentUrl" -}}
{{- $host := .Values.PUBLIC_HOST | default .Values.global.publicHost | default "localhost" }}
{{- $isLocal := regexMatch "^(localhost|127\\.[0-9.]+|\\[::1\\])(:[0-9]+)?$" $host }}
{{- $scheme := .Values.PUBLIC_SCHEME | default .Values.global.publicScheme | default (ternary "http" "https" $isLocal) }}
{{- printf "%s://%s%s" $scheme $host .Values.content.path }}
{{- end }}
