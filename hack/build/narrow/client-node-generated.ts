/**
 * What kubeconfig handling needs of client-node's generated clients: nothing but to make one, which @dot-i/k8s-operator does in its
 * constructor and then never asks (operator/host.ts talks over our transport). The bundle takes this file for a thousand generated ones.
 */
export const createConfiguration = <C>(configuration: C): C => configuration

export class ServerConfiguration {}
