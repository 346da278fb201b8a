{{/* What is mounted: the volumes and their mounts, as a JSON object of the two lists. */}}
{{- define "private-llm-sync-agent.files" -}}
{{- $service := .Values.serviceCluster }}
{{- $kcp := .Values.kcp.kubeconfigSecret }}
{{- /* Clients write the certificates of a kubeconfig to temporary files. */}}
{{- $volumes := list (dict "name" "tmp" "emptyDir" dict) }}
{{- $mounts := list (dict "name" "tmp" "mountPath" "/tmp") }}
{{- $mounted := list (dict "name" "kcp" "source" $kcp "kind" "secret" "file" "kubeconfig") }}
{{- if $service.kubeconfigSecret.name }}
  {{- $mounted = append $mounted (dict "name" "service-cluster" "source" $service.kubeconfigSecret "kind" "secret" "file" "kubeconfig") }}
{{- end }}
{{- if $service.caOverride.name }}
  {{- $mounted = append $mounted (dict "name" "service-ca" "source" $service.caOverride "kind" "configMap" "file" "ca.crt") }}
{{- end }}
{{- if .Values.extraCA.configMapName }}
  {{- $source := dict "name" .Values.extraCA.configMapName "key" .Values.extraCA.key }}
  {{- $mounted = append $mounted (dict "name" "extra-ca" "source" $source "kind" "configMap" "file" "ca.crt") }}
{{- end }}
{{- range $mounted }}
  {{- $items := list (dict "key" .source.key "path" .file) }}
  {{- if eq .kind "secret" }}
    {{- $volumes = append $volumes (dict "name" .name "secret" (dict "secretName" .source.name "defaultMode" 288 "items" $items)) }}
  {{- else }}
    {{- $volumes = append $volumes (dict "name" .name "configMap" (dict "name" .source.name "items" $items)) }}
  {{- end }}
  {{- $mounts = append $mounts (dict "name" .name "mountPath" (printf "/%s" .name) "readOnly" true) }}
{{- end }}
{{- if .Values.publishedResources.enabled }}
  {{- $volumes = append $volumes (dict "name" "published-resources" "configMap" (dict "name" (include "private-llm-sync-agent.publishedResources" .))) }}
  {{- $mounts = append $mounts (dict "name" "published-resources" "mountPath" "/published-resources" "readOnly" true) }}
{{- end }}
{{- dict "volumes" $volumes "mounts" $mounts | toJson }}
{{- end }}
