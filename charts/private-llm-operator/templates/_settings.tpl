{{/*
Settings as environment variables. Each is written once: an empty value is left out, so that the program's own
default holds.
*/}}

{{/* What both programs read. */}}
{{- define "private-llm.environment.common" -}}
PUBLIC_HOST: {{ include "private-llm.publicHost" . | quote }}
PRIVATE_LLM_TOKEN_NAMESPACE: {{ include "private-llm.tokenNamespace" . | quote }}
PRIVATE_LLM_PLATFORM_KEY_FILE: /platform-key/platform-key
PRIVATE_LLM_BIND_HOST: {{ .Values.bindHost | quote }}
PRIVATE_LLM_LOG_FORMAT: {{ .Values.logs.format | quote }}
PRIVATE_LLM_LOG_LEVEL: {{ .Values.logs.level | quote }}
{{- with .Values.otel.endpoint }}
OTEL_EXPORTER_OTLP_ENDPOINT: {{ . | quote }}
OTEL_EXPORTER_OTLP_PROTOCOL: {{ $.Values.otel.protocol | quote }}
{{- if $.Values.extraCA.configMapName }}
OTEL_EXPORTER_OTLP_CERTIFICATE: /extra-ca/ca.crt
{{- end }}
OTEL_TRACES_SAMPLER: parentbased_traceidratio
OTEL_TRACES_SAMPLER_ARG: {{ divf $.Values.otel.samplingPercent 100 | quote }}
{{- end }}
{{- with .Values.proxy.http }}
HTTP_PROXY: {{ . | quote }}
{{- end }}
{{- with .Values.proxy.https }}
HTTPS_PROXY: {{ . | quote }}
{{- end }}
{{- if or .Values.proxy.http .Values.proxy.https }}
NO_PROXY: {{ concat (list "localhost" "127.0.0.1" ".svc" ".cluster.local" "$(KUBERNETES_SERVICE_HOST)") .Values.proxy.exceptions | join "," | quote }}
{{- end }}
{{- end }}

{{- define "private-llm.environment.operator" -}}
PUBLIC_SCHEME: {{ include "private-llm.publicScheme" . | quote }}
PRIVATE_LLM_AUTH_ADDRESS: {{ include "private-llm.authAddress" . | quote }}
PRIVATE_LLM_INGRESS_CLASS: {{ include "private-llm.ingressClass" . | quote }}
PRIVATE_LLM_ENTRY_POINTS: {{ include "private-llm.entryPoints" . | quote }}
PRIVATE_LLM_MIDDLEWARE_SEPARATOR: {{ .Values.edge.middlewareSeparator | quote }}
PRIVATE_LLM_CORS_ORIGINS: {{ .Values.edge.corsOrigins | join "," | quote }}
PRIVATE_LLM_REQUESTS_PER_MINUTE: {{ .Values.edge.requestsPerMinute | int | quote }}
PRIVATE_LLM_CONCURRENT_REQUESTS: {{ .Values.edge.concurrentRequests | int | quote }}
PRIVATE_LLM_ADDRESS_REQUESTS_PER_SECOND: {{ .Values.edge.addressRequestsPerSecond | int | quote }}
PRIVATE_LLM_TRUSTED_PROXIES: {{ .Values.edge.trustedProxies | int | quote }}
PRIVATE_LLM_EDGE_NAMESPACES: {{ include "private-llm.edgeNamespaces" . | fromJsonArray | join "," | quote }}
PRIVATE_LLM_SCRAPER_NAMESPACES: {{ .Values.metrics.scraperNamespaces | join "," | quote }}
{{- with .Values.ingress.extraAnnotations }}
PRIVATE_LLM_INGRESS_ANNOTATIONS: {{ . | toJson | quote }}
{{- end }}
PRIVATE_LLM_LAST_USE_SECONDS: {{ .Values.tokens.lastUseSeconds | int | quote }}
PRIVATE_LLM_LAST_USE_SELECTOR: app.kubernetes.io/name={{ include "private-llm.authserver" . }},app.kubernetes.io/instance={{ .Release.Name }}
PRIVATE_LLM_LAST_USE_PORT: "8091"
PRIVATE_LLM_MODEL_METRICS_SECONDS: {{ .Values.metrics.modelSeconds | int | quote }}
{{- with .Values.tokens.longestLife }}
PRIVATE_LLM_LONGEST_TOKEN_LIFE: {{ . | quote }}
{{- end }}
PRIVATE_LLM_SERVER_IMAGE: {{ include "private-llm.image" (dict "root" . "image" .Values.server.image) | quote }}
PRIVATE_LLM_FETCHER_IMAGE: {{ include "private-llm.image" (dict "root" . "image" .Values.image) | quote }}
{{- with .Values.server.imagePullSecrets }}
PRIVATE_LLM_IMAGE_PULL_SECRETS: {{ range $index, $secret := . }}{{ if $index }},{{ end }}{{ $secret.name }}{{ end }}
{{- end }}
{{- if .Values.server.allowFileSources }}
PRIVATE_LLM_ALLOW_FILE_SOURCES: "true"
{{- end }}
{{- if .Values.server.allowPrivateSources }}
PRIVATE_LLM_ALLOW_PRIVATE_SOURCES: "true"
{{- end }}
{{- with .Values.server.mirror }}
PRIVATE_LLM_MIRROR: {{ . | quote }}
{{- end }}
{{- with .Values.extraCA.configMapName }}
PRIVATE_LLM_EXTRA_CA_FILE: /extra-ca/ca.crt
PRIVATE_LLM_EXTRA_CA_CONFIG_MAP: {{ . | quote }}
PRIVATE_LLM_EXTRA_CA_CONFIG_MAP_KEY: {{ $.Values.extraCA.key | quote }}
{{- end }}
{{- with .Values.server.nodeClasses }}
PRIVATE_LLM_NODE_CLASSES: {{ . | toJson | quote }}
{{- end }}
{{- $cache := .Values.modelCache }}
PRIVATE_LLM_CACHE_MODE: {{ $cache.mode | quote }}
PRIVATE_LLM_CACHE_CLAIM: {{ $cache.claim | quote }}
PRIVATE_LLM_CACHE_STORAGE_CLASS: {{ $cache.storageClass | quote }}
PRIVATE_LLM_CACHE_ACCESS_MODE: {{ $cache.accessMode | quote }}
PRIVATE_LLM_CACHE_CLAIM_SIZE: {{ $cache.claimSize | quote }}
{{- if eq $cache.mode "hostPath" }}
PRIVATE_LLM_CACHE_DIRECTORY: {{ $cache.directory | quote }}
{{- end }}
PRIVATE_LLM_CACHE_HUB_TOKEN_SECRET: {{ $cache.hubTokenSecret | quote }}
PRIVATE_LLM_GRACE_PERIOD_SECONDS: {{ .Values.server.gracePeriodSeconds | int | quote }}
PRIVATE_LLM_COLD_LOAD_SECONDS: {{ .Values.server.coldLoadSeconds | int | quote }}
PRIVATE_LLM_MAX_REPLICAS: {{ .Values.limits.maxReplicas | int | quote }}
{{- with .Values.limits.maxInstances }}
PRIVATE_LLM_MAX_INSTANCES: {{ . | int | quote }}
{{- end }}
{{- with .Values.limits.maxTokenRequests }}
PRIVATE_LLM_MAX_TOKEN_REQUESTS: {{ . | int | quote }}
{{- end }}
PRIVATE_LLM_NAMESPACES: {{ .Values.watch.namespaces | join "," | quote }}
PRIVATE_LLM_WORKERS: {{ .Values.watch.workers | int | quote }}
PRIVATE_LLM_RELIST_SECONDS: {{ .Values.watch.relistSeconds | int | quote }}
PRIVATE_LLM_SWEEP_SECONDS: {{ .Values.watch.sweepSeconds | int | quote }}
PRIVATE_LLM_METRICS_PORT: "8080"
{{- if .Values.catalogue.enabled }}
PRIVATE_LLM_CATALOGUE_DIRECTORY: /catalogue
{{- end }}
{{- end }}

{{- define "private-llm.environment.authserver" -}}
PRIVATE_LLM_VERIFY_PORT: "8090"
PRIVATE_LLM_ADMIN_PORT: "8091"
PRIVATE_LLM_WORKERS: {{ .Values.authserver.workers | int | quote }}
PRIVATE_LLM_MAX_STALENESS_SECONDS: {{ .Values.authserver.maxStalenessSeconds | int | quote }}
PRIVATE_LLM_DRAIN_SECONDS: {{ .Values.authserver.drainSeconds | int | quote }}
PRIVATE_LLM_AUDIT_LINES_PER_SECOND: {{ .Values.authserver.auditLinesPerSecond | int | quote }}
{{- end }}

{{/*
Variables as a container lists them: who the pod is, then settings. One of extra stands in for ours of that name, because
an API server that applies takes no name twice. Takes root, part and extra.
*/}}
{{- define "private-llm.env" -}}
{{- $given := dict }}
{{- range .extra }}
  {{- $_ := set $given .name true }}
{{- end }}
{{- range $name, $path := dict "POD_IP" "status.podIP" "POD_NAME" "metadata.name" "POD_NAMESPACE" "metadata.namespace" }}
{{- if not (hasKey $given $name) }}
- name: {{ $name }}
  valueFrom:
    fieldRef:
      apiVersion: v1
      fieldPath: {{ $path }}
{{- end }}
{{- end }}
{{- $common := include "private-llm.environment.common" .root | fromYaml }}
{{- $own := include (printf "private-llm.environment.%s" .part) .root | fromYaml }}
{{- range $name, $value := merge $own $common }}
{{- if not (hasKey $given $name) }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}
{{- $otel := .root.Values.otel }}
{{- if and $otel.endpoint $otel.headersSecret.name (not (hasKey $given "OTEL_EXPORTER_OTLP_HEADERS")) }}
- name: OTEL_EXPORTER_OTLP_HEADERS
  valueFrom:
    secretKeyRef:
      name: {{ $otel.headersSecret.name }}
      key: {{ $otel.headersSecret.key | quote }}
{{- end }}
{{- with .extra }}
{{ toYaml . }}
{{- end }}
{{- end }}
