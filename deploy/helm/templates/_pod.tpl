{{- define "gateway.labels" -}}
app.kubernetes.io/name: model-gateway
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .name }}
{{- end }}

{{- /* Arguments: root, name, user, arguments, secret, variables, tag, resources, and serves: its ports are probed. */}}
{{- define "gateway.pod" -}}
metadata:
  labels:
    {{- include "gateway.labels" . | nindent 4 }}
    app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
  {{- if .serves }}
  annotations:
    prometheus.io/scrape: "true"
    prometheus.io/port: "9464"
  {{- end }}
spec:
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- with .root.Values.imagePullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .root.Values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .root.Values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  restartPolicy: {{ ternary "Always" "OnFailure" .serves }}
  securityContext: { runAsNonRoot: true, runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000, seccompProfile: { type: RuntimeDefault } }
  {{- if .serves }}
  terminationGracePeriodSeconds: {{ .root.Values.terminationGracePeriodSeconds }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector: { matchLabels: {{ include "gateway.labels" . | fromYaml | toJson }} }
  {{- end }}
  containers:
    - name: gateway
      image: "{{ .root.Values.image.repository }}:{{ .tag | default .root.Values.image.tag | default .root.Chart.AppVersion }}"
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      args: {{ toJson .arguments }}
      securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: [ALL] } }
      env:
        - { name: GATEWAY_NATS_USER, value: {{ .user | quote }} }
        - { name: NODE_COMPILE_CACHE, value: /tmp/compiled }
        {{- range .variables }}
        - { name: {{ . }}_FILE, value: /secrets/gateway/{{ . }} }
        {{- end }}
      {{- if .serves }}
      ports:
        - { name: observe, containerPort: 9464 }
        {{- if has .name (list "edge" "workers") }}
        - { name: http, containerPort: 8787 }
        {{- end }}
      {{- if eq .name "workers" }}
      # Whether requests are served: on `observe` a whole gateway fails as well while PostgreSQL is away or nothing is sealed, and would be
      # withdrawn or restarted for that. Its supervisor replaces processes that end.
      readinessProbe: { httpGet: { path: /readyz, port: http, scheme: {{ ternary "HTTPS" "HTTP" (hasKey .root.Values.config.listen "tls") }} }, periodSeconds: 2, timeoutSeconds: 2, failureThreshold: 2 }
      {{- else }}
      # While a process starts it is alive and not ready.
      livenessProbe: { httpGet: { path: /healthz, port: observe }, periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6 }
      readinessProbe: { httpGet: { path: /readyz, port: observe }, periodSeconds: 2, timeoutSeconds: 2, failureThreshold: 2 }
      {{- end }}
      {{- end }}
      resources: {{- toYaml (.resources | default .root.Values.resources) | nindent 8 }}
      volumeMounts:
        - { name: config, mountPath: /etc/model-gateway, readOnly: true }
        - { name: secrets, mountPath: /secrets/gateway, readOnly: true }
        {{- if .root.Values.ca.secret }}
        - { name: ca, mountPath: /secrets/ca, readOnly: true }
        {{- end }}
        - { name: tmp, mountPath: /tmp }
        - { name: data, mountPath: /data }
  volumes:
    - { name: config, configMap: { name: "{{ .root.Release.Name }}-gateway" } }
    - { name: secrets, secret: { secretName: {{ .secret | quote }}, defaultMode: 0440 } }
    {{- with .root.Values.ca.secret }}
    - { name: ca, secret: { secretName: {{ . | quote }} } }
    {{- end }}
    - { name: tmp, emptyDir: {} }
    {{- if not (has .name (list "scheduler" "workers")) }}
    - { name: data, emptyDir: {} }
    {{- end }}
{{- end }}

{{- /* Arguments: those of the pod, and replicas. What signs keeps a volume. */}}
{{- define "gateway.set" -}}
{{- $keeps := has .name (list "scheduler" "workers") }}
apiVersion: apps/v1
kind: {{ ternary "StatefulSet" "Deployment" $keeps }}
metadata:
  name: "{{ .root.Release.Name }}-{{ .name }}"
  labels: {{- include "gateway.labels" . | nindent 4 }}
spec:
  replicas: {{ .replicas }}
  selector: { matchLabels: {{ include "gateway.labels" . | fromYaml | toJson }} }
  {{- if $keeps }}
  serviceName: "{{ .root.Release.Name }}-{{ .name }}"
  podManagementPolicy: Parallel
  volumeClaimTemplates:
    - metadata: { name: data }
      spec:
        accessModes: [ReadWriteOnce]
        {{- with .root.Values.data.storageClassName }}
        storageClassName: {{ . }}
        {{- end }}
        resources: { requests: { storage: {{ .root.Values.data.size }} } }
  {{- else }}
  strategy: { type: RollingUpdate, rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } }
  {{- end }}
  template: {{- include "gateway.pod" . | nindent 4 }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: "{{ .root.Release.Name }}-{{ .name }}"
  labels: {{- include "gateway.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  selector: { matchLabels: {{ include "gateway.labels" . | fromYaml | toJson }} }
{{- end }}
