{{/*
The image's reference. A digest wins over a tag; global.imageRegistry replaces the first part of the repository
where that is a registry.
*/}}
{{- define "private-llm-sync-agent.image" -}}
{{- $image := .Values.image }}
{{- $repository := $image.repository }}
{{- with .Values.global.imageRegistry }}
  {{- $first := first (splitList "/" $repository) }}
  {{- if or (contains "." $first) (contains ":" $first) (eq "localhost" $first) }}
    {{- $repository = trimPrefix (printf "%s/" $first) $repository }}
  {{- end }}
  {{- $repository = printf "%s/%s" (trimSuffix "/" .) $repository }}
{{- end }}
{{- if $image.digest }}
  {{- printf "%s@%s" $repository $image.digest }}
{{- else }}
  {{- printf "%s:%s" $repository ($image.tag | default .Chart.AppVersion) }}
{{- end }}
{{- end }}
