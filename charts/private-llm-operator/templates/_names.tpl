{{/*
Names. A namespace holds one release, because the operator's Lease and the shared middlewares have fixed names
there; so objects in the release's namespace have fixed names as well. Cluster-scoped objects end in the
namespace, so that releases in two namespaces do not meet.
*/}}

{{- define "private-llm.operator" -}}private-llm-operator{{- end }}
{{- define "private-llm.authserver" -}}private-llm-authserver{{- end }}
{{- define "private-llm.edge" -}}private-llm-edge{{- end }}
{{- define "private-llm.catalogue" -}}private-llm-catalogue{{- end }}

{{- define "private-llm.platformKey" -}}
{{- .Values.platformKey.existingSecret | default "private-llm-platform-key" }}
{{- end }}

{{- define "private-llm.tokenNamespace" -}}
{{- $name := .Values.tokens.namespace | default (printf "%s-tokens" (trimSuffix "-system" .Release.Namespace)) }}
{{- if eq $name .Release.Namespace }}
  {{- printf "tokens.namespace must be a namespace of its own, because nobody but the operator may write Secrets there; got the release's namespace %q. Leave it empty, or name another one." $name | fail }}
{{- end }}
{{- $name }}
{{- end }}

{{- define "private-llm.ingressClass" -}}
{{- .Values.ingress.className | default .Values.traefik.ingressClass.name }}
{{- end }}

{{/*
Customers' namespaces in which the operator may handle Secrets, as JSON; none where that is everywhere. What it does
not serve it needs no Secrets of.
*/}}
{{- define "private-llm.secretNamespaces" -}}
{{- $watched := .Values.watch.namespaces | uniq }}
{{- $onboarded := .Values.onboardedNamespaces | uniq }}
{{- $found := list }}
{{- if .Values.rbac.secretsInAllNamespaces }}
  {{- $found = $watched }}
{{- else if not $watched }}
  {{- $found = $onboarded }}
{{- else }}
  {{- range $onboarded }}
    {{- if has . $watched }}
      {{- $found = append $found . }}
    {{- end }}
  {{- end }}
{{- end }}
{{- $found | toJson }}
{{- end }}

{{/* Labels of every object. */}}
{{- define "private-llm.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/part-of: private-llm
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* Labels by which a part's pods are found; they never change. Takes root and name. */}}
{{- define "private-llm.selector" -}}
app.kubernetes.io/name: {{ .name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- end }}

{{/* Name, namespace and labels of a part's object. Takes root and name. */}}
{{- define "private-llm.metadata" -}}
name: {{ .name }}
namespace: {{ .root.Release.Namespace }}
labels:
  app.kubernetes.io/name: {{ .name }}
  {{- include "private-llm.labels" .root | nindent 2 }}
{{- end }}
