{{/*
The agent's command line, as a JSON list. An empty value is left out, so that the program's own default holds.
*/}}
{{- define "private-llm-sync-agent.flags" -}}
{{- $host := .Values.bindHost }}
{{- $bracketed := ternary (printf "[%s]" $host) $host (contains ":" $host) }}
{{- $service := .Values.serviceCluster }}
{{- $flags := list
  "--kcp-kubeconfig=/kcp/kubeconfig"
  "--namespace=$(POD_NAMESPACE)"
  (printf "--apiexportendpointslice-ref=%s" .Values.kcp.endpointSlice)
  (printf "--agent-name=%s" .Values.agentName)
  (printf "--enable-leader-election=%t" .Values.leaderElection)
  (printf "--health-address=%s:8086" $bracketed)
  (printf "--metrics-address=%s" (ternary (printf "%s:8085" $bracketed) "0" .Values.metrics.enabled))
  (printf "--log-format=%s" .Values.logs.format)
  (printf "--log-debug=%t" .Values.logs.debug) }}
{{- range $original, $new := .Values.kcp.endpointOverrides }}
  {{- $flags = append $flags (printf "--apiexport-hostport-override=%s=%s" $original $new) }}
{{- end }}
{{- with .Values.publishedResources.selector }}
  {{- $flags = append $flags (printf "--published-resource-selector=%s" .) }}
{{- end }}
{{- if .Values.publishedResources.enabled }}
  {{- $flags = append $flags "--published-resources-directory=/published-resources" }}
{{- end }}
{{- with .Values.disabledControllers }}
  {{- $flags = append $flags (printf "--disabled-controllers=%s" (join "," .)) }}
{{- end }}
{{- if $service.kubeconfigSecret.name }}
  {{- $flags = append $flags "--kubeconfig=/service-cluster/kubeconfig" }}
{{- end }}
{{- with $service.hostOverride }}
  {{- $flags = append $flags (printf "--kubeconfig-host-override=%s" .) }}
{{- end }}
{{- if $service.caOverride.name }}
  {{- $flags = append $flags "--kubeconfig-ca-file-override=/service-ca/ca.crt" }}
{{- end }}
{{- $flags | toJson }}
{{- end }}
