{{/* Whether an object may be ours: it does not exist, or this release made it. Takes root and found. */}}
{{- define "private-llm.mayRender" -}}
{{- $annotations := dig "metadata" "annotations" dict (.found | default dict) }}
{{- $name := get $annotations "meta.helm.sh/release-name" }}
{{- $namespace := get $annotations "meta.helm.sh/release-namespace" }}
{{- if or (not .found) (and (eq $name .root.Release.Name) (eq $namespace .root.Release.Namespace)) }}true{{ end }}
{{- end }}

{{/* Traefik's static configuration; a test compares with the embedded edge's. */}}
{{- define "private-llm.edge.configuration" -}}
global:
  checkNewVersion: false
  sendAnonymousUsage: false
log:
  level: INFO
  format: json
# Nothing that a client may put a key into is logged: no header, no query, no path. Router and service name the instance.
accessLog:
  format: json
  fields:
    headers: {defaultMode: drop}
    queryParameters: {defaultMode: drop}
    names: {ClientUsername: drop, RequestPath: drop, RequestLine: drop}
entryPoints:
  web:
    address: ":8000"
    {{- if eq (include "private-llm.publicScheme" .) "https" }}
    http:
      redirections:
        entryPoint: {to: ":{{ .Values.traefik.service.websecurePort | int }}", scheme: https}
    {{- else }}
    {{- include "private-llm.edge.entryPoint" . | nindent 4 }}
    {{- end }}
  websecure:
    address: ":8443"
    {{- include "private-llm.edge.entryPoint" . | nindent 4 }}
  internal:
    address: ":8082"
ping: {entryPoint: internal}
metrics:
  prometheus: {entryPoint: internal, addRoutersLabels: false}
{{- if include "private-llm.edge.traces" . }}
{{- $otel := .Values.otel }}
tracing:
  serviceName: private-llm-edge
  sampleRate: {{ divf $otel.edgeSamplingPercent 100 }}
  otlp:
    {{- if eq $otel.protocol "grpc" }}
    grpc:
      {{- $host := regexReplaceAll "^https?://([^/?#]*).*$" $otel.endpoint "${1}" }}
      # Traefik sends nothing without a port; 443 is the one to which gRPC takes the other parts.
      endpoint: {{ regexMatch ":[0-9]+$" $host | ternary $host (printf "%s:443" $host) | quote }}
      insecure: {{ hasPrefix "http://" $otel.endpoint }}
      {{- include "private-llm.edge.collector" . | nindent 6 }}
    {{- else }}
    http:
      endpoint: {{ trimSuffix "/" $otel.endpoint }}/v1/traces
      {{- include "private-llm.edge.collector" . | nindent 6 }}
    {{- end }}
{{- end }}
providers:
  providersThrottleDuration: 500ms
  {{- if .Values.tls.secretName }}
  file: {filename: /certificates-file/certificates.yaml}
  {{- end }}
  kubernetesIngress:
    ingressClass: {{ include "private-llm.ingressClass" . }}
    # Without it the path of an instance with no ready server answers 404 without a check.
    allowEmptyServices: true
    allowExternalNameServices: false
    # `/llm/abc` must not match `/llm/abcdef`.
    strictPrefixMatching: true
  kubernetesCRD:
    ingressClass: {{ include "private-llm.ingressClass" . }}
    allowEmptyServices: true
    allowExternalNameServices: false
    allowCrossNamespace: false
    # Joins namespace and name unambiguously: nobody can shadow another one's middleware.
    safeNaming: {{ eq .Values.edge.middlewareSeparator "_" }}
serversTransport:
  # llama.cpp closes its connection behind every stream and does not announce it. On a kept one the next
  # request would be lost, and a POST that may have arrived is never sent again: the customer gets 502.
  maxIdleConnsPerHost: -1
  # A completion that is not streamed sends its headers when it is finished.
  forwardingTimeouts: {dialTimeout: 5s, responseHeaderTimeout: 0s}
{{- end }}

{{/* Whether the edge sends spans. */}}
{{- define "private-llm.edge.traces" -}}
{{- if and .Values.otel.endpoint .Values.otel.edgeSamplingPercent }}true{{ end }}
{{- end }}

{{/* Whether it believes the collector by the given bundle. */}}
{{- define "private-llm.edge.trusts" -}}
{{- if and (include "private-llm.edge.traces" .) .Values.extraCA.configMapName (hasPrefix "https://" .Values.otel.endpoint) }}true{{ end }}
{{- end }}

{{/*
By what the edge believes the collector, and by what the collector believes the edge. Traefik gives OpenTelemetry's
library its own headers, even when it has none, so that nothing reads OTEL_EXPORTER_OTLP_HEADERS. The kubelet puts
the texts into the arguments.
*/}}
{{- define "private-llm.edge.collector" -}}
{{- if include "private-llm.edge.trusts" . }}
tls: {ca: /extra-ca/ca.crt}
{{- end }}
{{- with include "private-llm.edge.headers" . | fromJsonArray }}
headers:
  {{- range . }}
  {{ .header | quote }}: "$({{ .variable }})"
  {{- end }}
{{- end }}
{{- end }}

{{/* The headers of its spans, as JSON: header, key in the Secret, and the variable between them. */}}
{{- define "private-llm.edge.headers" -}}
{{- $otel := .Values.otel }}
{{- $headers := list }}
{{- if include "private-llm.edge.traces" . }}
  {{- if and $otel.headersSecret.name (not $otel.edgeHeaders) }}
    {{- printf "otel.edgeHeaders must name the headers that the bundled edge sends to the collector, each with the key of its text in the Secret %q, because Traefik cannot read otel.headersSecret.key; got none. Name them, as in {authorization: edge-authorization}, or set otel.edgeSamplingPercent to 0." $otel.headersSecret.name | fail }}
  {{- else if and $otel.edgeHeaders (not $otel.headersSecret.name) }}
    {{- fail "otel.headersSecret.name must name the Secret that has the keys in otel.edgeHeaders; got none. Name it, or leave otel.edgeHeaders empty." }}
  {{- end }}
  {{- range $index, $header := keys $otel.edgeHeaders | sortAlpha }}
    {{- $headers = append $headers (dict "header" $header "key" (get $otel.edgeHeaders $header) "variable" (printf "COLLECTOR_HEADER_%d" $index)) }}
  {{- end }}
{{- end }}
{{- $headers | toJson }}
{{- end }}

{{/*
Options as flags, which show in the Deployment what the edge runs with (`privatellm doctor` reads them there).
Takes path and options.
*/}}
{{- define "private-llm.edge.flags" -}}
{{- range $name, $value := .options }}
{{- $path := printf "%s.%s" $.path $name | trimPrefix "." }}
{{- if kindIs "map" $value }}
{{- include "private-llm.edge.flags" (dict "path" $path "options" $value) }}
{{- else if kindIs "slice" $value }}
{{- with $value }}
- {{ printf "--%s=%s" $path (join "," .) | quote }}
{{- end }}
{{- else }}
- {{ printf "--%s=%v" $path $value | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- define "private-llm.edge.entryPoint" -}}
asDefault: true
forwardedHeaders:
  insecure: false
  trustedIPs: {{ .Values.traefik.trustedIPs | toJson }}
http:
  # `X_Auth_User` must not pass for `X-Auth-User` behind us (CVE-2026-39858).
  aliasHeadersStrategy: delete
  encodedCharacters:
    allowEncodedSlash: false
    allowEncodedBackSlash: false
    allowEncodedNullCharacter: false
    allowEncodedSemicolon: false
    allowEncodedPercent: false
    allowEncodedQuestionMark: false
    allowEncodedHash: false
  sanitizePath: true
  # Each header is sent to the check as well; the default is 1 MiB.
  maxHeaderBytes: 65536
transport:
  respondingTimeouts: {readTimeout: 3600s, writeTimeout: 0s, idleTimeout: 180s}
  lifeCycle: {requestAcceptGraceTimeout: 3s, graceTimeOut: 300s}
{{- end }}
