/** Where a pod has the token, authorities and namespace that Kubernetes gives it for the API server. */
export const SERVICE_ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount'
