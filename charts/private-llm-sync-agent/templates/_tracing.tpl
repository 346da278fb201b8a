{{/*
Variables that send traces to a collector, by the OpenTelemetry specification; none without an endpoint. The
credential of the collector stays in its Secret.
*/}}
{{- define "private-llm-sync-agent.tracing" -}}
{{- with .Values.otel }}
{{- if .endpoint }}
- name: OTEL_EXPORTER_OTLP_ENDPOINT
  value: {{ .endpoint | quote }}
- name: OTEL_EXPORTER_OTLP_PROTOCOL
  value: {{ .protocol | quote }}
- name: OTEL_TRACES_SAMPLER
  value: parentbased_traceidratio
- name: OTEL_TRACES_SAMPLER_ARG
  value: {{ divf .samplingPercent 100 | quote }}
{{- if $.Values.extraCA.configMapName }}
- name: OTEL_EXPORTER_OTLP_CERTIFICATE
  value: /extra-ca/ca.crt
{{- end }}
{{- if .headersSecret.name }}
- name: OTEL_EXPORTER_OTLP_HEADERS
  valueFrom:
    secretKeyRef:
      name: {{ .headersSecret.name }}
      key: {{ .headersSecret.key | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
