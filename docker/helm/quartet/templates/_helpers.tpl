{{- define "quartet.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- /* Labels of an object, from (dict "root" . "part" "frontend" "pool" ""). */}}
{{- define "quartet.labels" -}}
{{ include "quartet.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- define "quartet.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- with .pool }}
quartet/pool: {{ . }}
{{- end }}
{{- end }}

{{- /* An image by its digest, or its tag, or the chart's version. Ours are in images.registry unless they name another repository. */}}
{{- define "quartet.image" -}}
{{- $image := index .root.Values.images .name -}}
{{- $repository := $image.repository -}}
{{- if not $repository }}
{{- $repository = printf "%s/%s" (required "set images.registry to where you pushed Quartet's images (docker/build.sh --push), or to localhost/quartet on a laptop's cluster" .root.Values.images.registry) .name }}
{{- end }}
{{- if $image.digest }}{{ printf "%s@%s" $repository $image.digest }}{{ else }}{{ printf "%s:%s" $repository (default .root.Chart.AppVersion $image.tag) }}{{ end }}
{{- end }}

{{- /* Where pods run, from the values of a part. */}}
{{- define "quartet.placement" -}}
{{- range $key := list "nodeSelector" "tolerations" "affinity" }}
{{- with index $ $key }}
{{ $key }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .runtimeClassName }}
runtimeClassName: {{ . }}
{{- end }}
{{- end }}

{{- /* Pods that read a claim of one node (ReadWriteOnce) run next to each other, unless their part has an affinity of its own. */}}
{{- define "quartet.near" -}}
{{- $models := .root.Values.models }}
{{- if and (ne $models.from "image") (eq $models.claim.accessMode "ReadWriteOnce") (not .values.affinity) }}
affinity:
  podAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels:
            app.kubernetes.io/name: {{ .root.Chart.Name }}
            app.kubernetes.io/instance: {{ .root.Release.Name }}
          matchExpressions:
            - { key: app.kubernetes.io/component, operator: In, values: [export, triton, frontend] }
{{- end }}
{{- end }}

{{- /* A claim that only one node can mount cannot serve pods on several nodes. */}}
{{- define "quartet.checked" -}}
{{- $models := .Values.models }}
{{- if and (ne $models.from "image") (eq $models.claim.accessMode "ReadWriteOnce") (or .Values.spread.hosts .Values.spread.zones) }}
{{- fail "models.claim.accessMode is ReadWriteOnce, which one node mounts, but spread asks for pods on several: use ReadWriteMany or models.from=image, or set spread.hosts and spread.zones to false" }}
{{- end }}
{{- if and (eq $models.from "job") (eq $models.source "folder") (not $models.folder.claim) }}
{{- fail "models.source is folder: set models.folder.claim to the claim that has the checkpoints" }}
{{- end }}
{{- if and (eq $models.from "image") (semverCompare "<1.33.0-0" .Capabilities.KubeVersion.Version) }}
{{- fail "models.from=image needs Kubernetes 1.33 or newer, which has image volumes" }}
{{- end }}
{{- range $pool, $values := .Values.pools }}
{{- if and $values.gpus (eq $models.from "job") (ne $models.precision "fp16") }}
{{- fail (printf "the pool %s has GPUs: set models.precision to fp16" $pool) }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Every pod has no variables about Services, no token and no capabilities. */}}
{{- define "quartet.pod" -}}
enableServiceLinks: false
automountServiceAccountToken: false
{{- with .root.Values.images.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: {{ .user }}
  runAsGroup: {{ .user }}
  fsGroup: {{ .user }}
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "quartet.container" -}}
imagePullPolicy: {{ .Values.images.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}

{{- define "quartet.spread" -}}
{{- $spread := .root.Values.spread }}
{{- if or $spread.hosts $spread.zones }}
topologySpreadConstraints:
  {{- range $key := ternary (list "kubernetes.io/hostname") list $spread.hosts | concat (ternary (list "topology.kubernetes.io/zone") list $spread.zones) }}
  - maxSkew: 1
    topologyKey: {{ $key }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "quartet.selector" $ | nindent 8 }}
  {{- end }}
{{- end }}
{{- end }}

{{- /* The volume of models, and an init container that waits for a Job's export. */}}
{{- define "quartet.models" -}}
- name: models
  {{- if eq .root.Values.models.from "image" }}
  image:
    reference: {{ .image }}
    pullPolicy: {{ .root.Values.images.pullPolicy }}
  {{- else }}
  persistentVolumeClaim: { claimName: {{ include "quartet.claim" .root }}, readOnly: true }
  {{- end }}
{{- end }}

{{- define "quartet.claim" -}}
{{- default (printf "%s-models" (include "quartet.name" .)) .Values.models.claim.name }}
{{- end }}

{{- /* The resource that says how many processors a Triton may use, from the pool's resources. A request below one processor
       says nothing about those that are free: it is empty then. */}}
{{- define "quartet.processors" -}}
{{- $asked := toString (dig "cpu" "0" .requests) }}
{{- if dig "cpu" "" .limits }}limits.cpu{{ else if or (and (hasSuffix "m" $asked) (ge (trimSuffix "m" $asked | atoi) 1000)) (and (not (hasSuffix "m" $asked)) (ge (float64 $asked) 1.0)) }}requests.cpu{{ end }}
{{- end }}

{{- /* A pool's models as a JSON list, from (dict "root" . "models" its models): Kokoro has five voices of the demo. */}}
{{- define "quartet.loaded" -}}
{{- $kokoro := list }}
{{- if eq .root.Values.models.source "demo" }}
{{- $kokoro = list "piper_paola" "piper_riccardo" "piper_amy" "piper_thorsten" "piper_siwis" }}
{{- end }}
{{- $found := list }}
{{- range .models }}
{{- $found = append $found (ternary "kokoro" . (has . $kokoro)) }}
{{- end }}
{{- uniq $found | toJson }}
{{- end }}

{{- /* The name of an export, by its image, source, precision and what is added. */}}
{{- define "quartet.export" -}}
{{- $added := "" }}
{{- range list .Values.models.voices .Values.models.folder }}
{{- if .claim }}
{{- $added = printf "%s %s %s" $added .claim .revision }}
{{- end }}
{{- end }}
{{- range list "voices" "models" }}
{{- $own := dig . "" $.Values.frontend.settings }}
{{- if kindIs "map" $own }}
{{- $added = printf "%s %s" $added (toJson $own) }}
{{- end }}
{{- end }}
{{- printf "%s %s %s%s" (include "quartet.image" (dict "root" . "name" "export")) .Values.models.source .Values.models.precision $added | sha256sum | trunc 8 }}
{{- end }}

{{- /* All that its pod has. Another Job of the same export finds it done. */}}
{{- define "quartet.exportJob" -}}
{{ include "quartet.name" . }}-export-{{ list (include "quartet.export" .) .Values.models .Values.images .Chart | toJson | sha256sum | trunc 8 }}
{{- end }}

{{- /* The folder of one export. A Job's folder has the export's name, so revisions never share a folder. */}}
{{- define "quartet.repository" -}}
{{- if eq .Values.models.from "job" }}/models/{{ include "quartet.export" . }}{{ else if eq .Values.models.from "claim" }}/models/{{ .Values.models.claim.folder }}{{ else }}/models{{ end }}
{{- end }}

{{- define "quartet.wait" -}}
{{- if eq .root.Values.models.from "job" }}
{{- $export := printf "app.kubernetes.io/instance=%s,app.kubernetes.io/component=export" .root.Release.Name }}
initContainers:
  - name: models
    image: {{ include "quartet.image" (dict "root" .root "name" .image) }}
    {{- include "quartet.container" .root | nindent 4 }}
    # It says every minute what it waits for.
    command:
      - sh
      - -c
      - |
        tries=0
        until [ -d {{ include "quartet.repository" .root }}/ ]; do
          [ $((tries % 30)) -gt 0 ] || echo "waiting for the export of the models; 'kubectl logs --selector {{ $export }}' says how far it is, and 'kubectl describe jobs --selector {{ $export }}' whether it failed"
          tries=$((tries + 1))
          sleep 2
        done
    resources:
      requests: { cpu: 10m, memory: 16Mi }
      limits: { memory: 64Mi }
    volumeMounts:
      - { name: models, mountPath: /models, readOnly: true }
{{- end }}
{{- end }}

{{- define "quartet.secret" -}}
{{- default (printf "%s-secrets" (include "quartet.name" .)) .Values.secrets.existingSecret }}
{{- end }}
{{- define "quartet.redisSecret" -}}
{{- default (printf "%s-redis" (include "quartet.name" .)) .Values.redis.existingSecret }}
{{- end }}
{{- define "quartet.databaseSecret" -}}
{{- default (printf "%s-postgres" (include "quartet.name" .)) .Values.postgres.existingSecret }}
{{- end }}

{{- /* The longest that a frontend's pod takes to end: it goes on answering, drains, and writes its last charges. */}}
{{- define "quartet.grace" -}}
{{- add 30 .Values.frontend.stopDelaySeconds .Values.frontend.drainSeconds }}
{{- end }}
