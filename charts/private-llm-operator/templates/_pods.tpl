{{/* What the pods of all parts have in common. */}}

{{/* Labels and annotations of the pods. Takes root, name and values (of the part). */}}
{{- define "private-llm.pod.metadata" -}}
labels:
  {{- $fixed := include "private-llm.selector" . | fromYaml }}
  {{- $ours := include "private-llm.labels" .root | fromYaml }}
  {{- merge $fixed $ours .values.podLabels | toYaml | nindent 2 }}
{{- with .values.podAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Account, security and placement. Takes root, name and values (of the part). */}}
{{- define "private-llm.pod.common" -}}
serviceAccountName: {{ .name }}
enableServiceLinks: false
securityContext:
  {{- toYaml .root.Values.podSecurityContext | nindent 2 }}
{{- with concat .root.Values.global.imagePullSecrets .root.Values.imagePullSecrets | uniq }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- $spread := .values.topologySpreadConstraints }}
{{- if and (kindIs "invalid" $spread) .spread }}
  {{- $selector := dict "matchLabels" (include "private-llm.selector" . | fromYaml) }}
  {{- $spread = list (dict "maxSkew" 1 "topologyKey" "kubernetes.io/hostname" "whenUnsatisfiable" "ScheduleAnyway" "labelSelector" $selector) }}
{{- end }}
{{- with $spread }}
topologySpreadConstraints:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Image, resources and security of a container. Takes root, image and values (of the part). */}}
{{- define "private-llm.container.common" -}}
image: {{ include "private-llm.image" . | quote }}
imagePullPolicy: {{ .image.pullPolicy }}
resources:
  {{- toYaml .values.resources | nindent 2 }}
terminationMessagePolicy: FallbackToLogsOnError
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  runAsNonRoot: true
  capabilities:
    drop: [ALL]
{{- end }}

{{/* Probes on the port of health. Takes port. */}}
{{- define "private-llm.container.probes" -}}
startupProbe:
  httpGet: {path: /healthz, port: {{ .port }}}
  periodSeconds: 1
  timeoutSeconds: 5
  failureThreshold: 60
readinessProbe:
  httpGet: {path: /readyz, port: {{ .port }}}
  periodSeconds: 2
  timeoutSeconds: 5
  failureThreshold: 3
livenessProbe:
  httpGet: {path: /healthz, port: {{ .port }}}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
{{- end }}

{{/* Volumes of operator and ForwardAuth service, and where they are mounted. */}}
{{- define "private-llm.volumes" -}}
- name: platform-key
  secret:
    secretName: {{ include "private-llm.platformKey" . }}
    defaultMode: 288 # 0440
- name: tmp
  emptyDir: {}
{{- with .Values.extraCA.configMapName }}
- name: extra-ca
  configMap:
    name: {{ . }}
    items:
      - key: {{ $.Values.extraCA.key | quote }}
        path: ca.crt
{{- end }}
{{- end }}

{{- define "private-llm.volumeMounts" -}}
- name: platform-key
  mountPath: /platform-key
  readOnly: true
- name: tmp
  mountPath: /tmp
{{- if .Values.extraCA.configMapName }}
- name: extra-ca
  mountPath: /extra-ca
  readOnly: true
{{- end }}
{{- end }}
