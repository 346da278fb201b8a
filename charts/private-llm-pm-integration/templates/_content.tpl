{{/*
What the portal shows, as JSON. The views come from the API types; what belongs to this installation is put around
them as objects, and everything is written by one toJson, so that no text breaks out of its value. The same file
is in the charts private-llm-operator and private-llm-pm-integration; a test compares.

Takes files (.Files), content (values), models (names), and maxReplicas (a number, or 0 for any).
*/}}
{{- define "private-llm.portal.content" -}}
{{- $content := .content }}
{{- $secrets := dict "apiGroup" $content.secrets.group "version" $content.secrets.version "entityCollection" $content.secrets.plural "entity" $content.secrets.kind }}
{{- $replicas := list }}
{{- range $content.replicaChoices }}
  {{- if or (not $.maxReplicas) (le (int .) (int $.maxReplicas)) }}
    {{- $replicas = append $replicas (int . | toString) }}
  {{- end }}
{{- end }}
{{- $choices := dict "models" .models "replicas" $replicas "keyLifetimes" $content.keyLifetimes }}
{{- $component := "/assets/platform-mesh-portal-ui-wc.js" }}
{{- $nodes := list }}
{{- range $index, $view := .files.Get "files/portal-views.json" | fromJsonArray }}
  {{- $resource := $view.resource | default $secrets }}
  {{- $definition := merge (dict "scope" "Namespaced") $resource }}
  {{- $_ := set $definition "namespace" nil }}
  {{- $ui := dict "listView" $view.listView "detailView" $view.detailView }}
  {{- with $content.logoUrl }}
    {{- $_ := set $ui "logoUrl" . }}
  {{- end }}
  {{- with $view.createView }}
    {{- $fields := list }}
    {{- range .fields }}
      {{- if not (hasKey . "choices") }}
        {{- $fields = append $fields . }}
      {{- else if get $choices .choices }}
        {{- $fields = append $fields (merge (dict "values" (get $choices .choices)) (omit . "choices")) }}
      {{- end }}
    {{- end }}
    {{- $_ := set $ui "createView" (dict "fields" $fields) }}
  {{- end }}
  {{- $_ := set $definition "ui" $ui }}
  {{- with $view.readyCondition }}
    {{- $_ := set $definition "readyCondition" . }}
    {{- /* What is not ready can be looked at: its detail says why. */}}
    {{- $_ := set $definition "availableWhenNotReady" true }}
  {{- end }}
  {{- $query := dict "group" $resource.apiGroup "version" $resource.version "kind" $resource.entity "query" "{ metadata { name } }" }}
  {{- $entity := dict "id" $view.id "contextKey" $view.contextKey "graphqlEntity" $query }}
  {{- $one := dict
    "pathSegment" (printf ":%s" $view.contextKey)
    "hideFromNav" true
    "keepSelectedForChildren" false
    "defineEntity" $entity
    "context" (dict "accountId" ":accountId" "namespaceId" ":namespaceId" "resourceId" (printf ":%s" $view.contextKey)) }}
  {{- $list := dict
    "pathSegment" $view.path
    "navigationContext" $view.path
    "label" $view.label
    "icon" $view.icon
    "category" (dict "label" $content.title "collapsible" true)
    "order" (add (int $content.order) $index)
    "entityType" $content.entityType
    "loadingIndicator" (dict "enabled" false)
    "keepSelectedForChildren" true
    "url" (printf "%s#generic-list-view" $component)
    "webcomponent" (dict "selfRegistered" true "type" "module")
    "context" (dict "resourceDefinition" $definition)
    "children" (list $one) }}
  {{- $detail := dict
    "pathSegment" "dashboard"
    "label" "Dashboard"
    "entityType" (printf "%s.%s" $content.entityType $view.id)
    "url" (printf "%s#generic-detail-view" $component)
    "webcomponent" (dict "selfRegistered" true "type" "module")
    "defineEntity" (dict "id" "dashboard")
    "compound" (dict "children" list) }}
  {{- $nodes = concat $nodes (list $list $detail) }}
{{- end }}
{{- dict "name" "private-llm" "luigiConfigFragment" (dict "data" (dict "nodes" $nodes)) | toJson }}
{{- end }}
