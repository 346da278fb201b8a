{{- define "private-llm.portal" -}}private-llm-portal{{- end }}

{{/* Names of the models that the catalogue offers, as a JSON list. */}}
{{- define "private-llm.portal.models" -}}
{{- $names := list }}
{{- if .Values.catalogue.enabled }}
  {{- $names = keys .Values.catalogue.models }}
  {{- if .Values.catalogue.defaults }}
    {{- range $path, $_ := .Files.Glob "files/catalogue/*.yaml" }}
      {{- $names = append $names (trimSuffix ".yaml" (base $path)) }}
    {{- end }}
  {{- end }}
{{- end }}
{{- $names | uniq | sortAlpha | toJson }}
{{- end }}

{{/* The host that an Ingress rule may carry: without port, and none for an address. */}}
{{- define "private-llm.ruleHost" -}}
{{- $host := regexReplaceAll ":[0-9]+$" (include "private-llm.publicHost" .) "" }}
{{- if not (or (hasPrefix "[" $host) (regexMatch "^[0-9.]+$" $host)) }}
  {{- lower $host }}
{{- end }}
{{- end }}
