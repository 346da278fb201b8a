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
{{- $otel := .Values.otel }}
{{- if and $otel.endpoint $otel.edgeSamplingPercent }}
tracing:
  serviceName: private-llm-edge
  sampleRate: {{ divf $otel.edgeSamplingPercent 100 }}
  otlp:
    {{- if eq $otel.protocol "grpc" }}
    grpc:
      endpoint: {{ regexReplaceAll "^https?://" $otel.endpoint "" | trimSuffix "/" }}
      insecure: {{ hasPrefix "http://" $otel.endpoint }}
    {{- else }}
    http: {endpoint: "{{ trimSuffix "/" $otel.endpoint }}/v1/traces"}
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
  # A completion that is not streamed sends its headers when it is finished.
  forwardingTimeouts: {dialTimeout: 5s, responseHeaderTimeout: 0s}
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
