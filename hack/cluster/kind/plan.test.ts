import { expect, test } from 'vitest'
import { goSettings } from '../../process/go-settings.ts'
import { BOOTED, JOIN_COMMAND, joining, KEEP_SETTINGS, kubeadmConfig, SETUP, servicesConfig, WAITS } from './plan.ts'

test("kubeadm's configuration", () => {
  expect(kubeadmConfig('docker.example', 'v1.36.1')).toMatchInlineSnapshot(`
    [
      {
        "apiServer": {
          "certSANs": [
            "localhost",
            "127.0.0.1",
            "docker.example",
          ],
        },
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "clusterName": "muster",
        "kind": "ClusterConfiguration",
        "kubernetesVersion": "v1.36.1",
        "networking": {
          "podSubnet": "10.244.0.0/16",
          "serviceSubnet": "10.96.0.0/16",
        },
      },
      {
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "InitConfiguration",
        "localAPIEndpoint": {
          "bindPort": 6443,
        },
        "nodeRegistration": {
          "criSocket": "unix:///run/containerd/containerd.sock",
          "taints": [],
        },
      },
      {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "cgroupDriver": "systemd",
        "cgroupRoot": "/kubelet",
        "evictionHard": {
          "imagefs.available": "0%",
          "nodefs.available": "0%",
          "nodefs.inodesFree": "0%",
        },
        "failCgroupV1": false,
        "failSwapOn": false,
        "imageGCHighThresholdPercent": 100,
        "kind": "KubeletConfiguration",
      },
      {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "conntrack": {
          "maxPerCore": 0,
        },
        "kind": "KubeProxyConfiguration",
      },
    ]
  `)
})

test('the certificate is good for the host once, whatever the host', () => {
  expect(kubeadmConfig('localhost', 'v1.36.1')[0]).toMatchObject({
    apiServer: { certSANs: ['localhost', '127.0.0.1'] },
  })
})

test('a cluster collects garbage as our own children do', () => {
  const env = goSettings({ GOGC: '400', GOMEMLIMIT: '', PATH: '/bin' })
  expect(env).toEqual({ GOGC: '400' })
  expect(servicesConfig({ ...env, GOMEMLIMIT: '1GiB' })).toBe(
    '[Manager]\nDefaultEnvironment=GOGC=400 GOMEMLIMIT=1GiB\n',
  )
  const given = { extraEnvs: [{ name: 'GOGC', value: '400' }] }
  expect(kubeadmConfig('localhost', 'v1.36.1', env)[0]).toMatchObject({
    apiServer: given,
    controllerManager: given,
    scheduler: given,
    etcd: { local: given },
  })
})

test('the way from a booted node to a cluster that can be used', () => {
  expect([
    BOOTED,
    ...[KEEP_SETTINGS, ...SETUP, ...WAITS].map(({ command }) => command.join(' ')),
  ]).toMatchInlineSnapshot(`
    [
      "systemctl is-active containerd && test -S /run/containerd/containerd.sock",
      "sh -ec echo 1 > /run/vm-overcommit_memory; mount --bind /run/vm-overcommit_memory /proc/sys/vm/overcommit_memory; echo 0 > /run/vm-panic_on_oom; mount --bind /run/vm-panic_on_oom /proc/sys/vm/panic_on_oom; echo 10 > /run/kernel-panic; mount --bind /run/kernel-panic /proc/sys/kernel/panic; echo 1 > /run/kernel-panic_on_oops; mount --bind /run/kernel-panic_on_oops /proc/sys/kernel/panic_on_oops; echo 1000000 > /run/kernel-keys-root_maxkeys; mount --bind /run/kernel-keys-root_maxkeys /proc/sys/kernel/keys/root_maxkeys; echo 25000000 > /run/kernel-keys-root_maxbytes; mount --bind /run/kernel-keys-root_maxbytes /proc/sys/kernel/keys/root_maxbytes",
      "kubeadm init --config=/kind/muster-kubeadm.yaml --skip-phases=preflight --skip-token-print",
      "sh -c sed 's#{{ *.PodSubnet *}}#10.244.0.0/16#' /kind/manifests/default-cni.yaml | kubectl --kubeconfig=/etc/kubernetes/admin.conf apply -f -",
      "kubectl --kubeconfig=/etc/kubernetes/admin.conf apply -f /kind/manifests/default-storage.yaml",
      "kubectl --kubeconfig=/etc/kubernetes/admin.conf wait --for=condition=Ready node --all --timeout=180s",
      "kubectl --kubeconfig=/etc/kubernetes/admin.conf wait --for=create serviceaccount/default --timeout=180s",
    ]
  `)
})

test('a worker joins by the command that the control plane prints', () => {
  expect(JOIN_COMMAND.command.join(' ')).toBe('kubeadm token create --print-join-command')
  const printed = 'kubeadm join 172.17.0.2:6443 --token abc.def --discovery-token-ca-cert-hash sha256:1 \n'
  expect(joining(printed).command.join(' ')).toBe(
    `${printed.trim()} --cri-socket=unix:///run/containerd/containerd.sock --skip-phases=preflight`,
  )
})
