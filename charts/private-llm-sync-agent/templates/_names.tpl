{{/*
Names. Objects in the release's namespace have fixed names, so a namespace holds one release. Cluster-scoped
objects end in the namespace, so that releases in two namespaces do not meet.
*/}}

{{- define "private-llm-sync-agent.name" -}}private-llm-sync-agent{{- end }}

{{- define "private-llm-sync-agent.clusterName" -}}
{{- printf "%s.%s" (include "private-llm-sync-agent.name" .) .Release.Namespace }}
{{- end }}

{{- define "private-llm-sync-agent.publishedResources" -}}
{{- printf "%s-published-resources" (include "private-llm-sync-agent.name" .) }}
{{- end }}

{{/* The operator's role for namespaces of customers; its chart gives it this name. */}}
{{- define "private-llm-sync-agent.tenantRole" -}}
{{- printf "private-llm-operator-tenant.%s" .Values.onboarding.operatorNamespace }}
{{- end }}

{{/* The annotation by which the agent onboards the namespaces that it makes, as YAML; empty: it does not. */}}
{{- define "private-llm-sync-agent.onboarding" -}}
{{- with .Values.onboarding.operatorNamespace }}
onboard.syncagent.kcp.io/operator: {{ dict "clusterRole" (include "private-llm-sync-agent.tenantRole" $) "serviceAccount" (printf "%s/private-llm-operator" .) | toJson | quote }}
{{- end }}
{{- end }}

{{/* Labels by which the pods are found; they never change. */}}
{{- define "private-llm-sync-agent.selector" -}}
app.kubernetes.io/name: {{ include "private-llm-sync-agent.name" . }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{/* Labels of every object. */}}
{{- define "private-llm-sync-agent.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "private-llm-sync-agent.selector" . }}
app.kubernetes.io/part-of: private-llm
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* Name, namespace and labels of an object in the release's namespace. */}}
{{- define "private-llm-sync-agent.metadata" -}}
name: {{ include "private-llm-sync-agent.name" . }}
namespace: {{ .Release.Namespace | quote }}
labels:
  {{- include "private-llm-sync-agent.labels" . | nindent 2 }}
{{- end }}
