{{/* Where customers find the edge, and how the edge finds the ForwardAuth service. */}}

{{- define "private-llm.publicHost" -}}
{{- .Values.PUBLIC_HOST | default .Values.global.publicHost | default "localhost" }}
{{- end }}

{{/* Plain http is the default for hosts that stay on this machine alone; elsewhere it must be asked for. */}}
{{- define "private-llm.publicScheme" -}}
{{- $given := .Values.PUBLIC_SCHEME | default .Values.global.publicScheme }}
{{- $isLocal := regexMatch "^(localhost|127\\.[0-9.]+|\\[::1\\])(:[0-9]+)?$" (include "private-llm.publicHost" .) }}
{{- $given | default (ternary "http" "https" $isLocal) }}
{{- end }}

{{- define "private-llm.entryPoints" -}}
{{- $ofScheme := ternary "websecure" "web" (eq (include "private-llm.publicScheme" .) "https") }}
{{- .Values.edge.entryPoints | default (list $ofScheme) | join "," }}
{{- end }}

{{- define "private-llm.authAddress" -}}
{{- $clusterIP := .Values.authserver.service.clusterIP }}
{{- $bracketed := ternary (printf "[%s]" $clusterIP) $clusterIP (contains ":" $clusterIP) }}
{{- $name := printf "%s.%s.svc" (include "private-llm.authserver" .) .Release.Namespace }}
{{- .Values.auth.externalURL | default (printf "http://%s:8090" ($bracketed | default $name)) }}
{{- end }}

{{/* Namespaces that Traefik runs in, as JSON. */}}
{{- define "private-llm.edgeNamespaces" -}}
{{- $own := ternary (list .Release.Namespace) list .Values.traefik.enabled }}
{{- concat .Values.edge.namespaces $own | uniq | toJson }}
{{- end }}
