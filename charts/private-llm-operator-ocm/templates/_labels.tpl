{{/* Labels of every object. */}}
{{- define "private-llm-ocm.labels" -}}
app.kubernetes.io/name: private-llm-operator-ocm
app.kubernetes.io/part-of: private-llm
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{/* Cluster-scoped names end in the namespace, so that nobody else's are met. */}}
{{- define "private-llm-ocm.clusterName" -}}
private-llm-ocm.{{ .Release.Namespace }}
{{- end }}
