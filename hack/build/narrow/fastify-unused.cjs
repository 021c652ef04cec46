/** What Fastify asks for the versions of plugins, of which we have none, and for requests without a network (`inject`), which are of tests. */
const absent = () => {
  throw new Error(
    'this part of Fastify is not in the bundle: versions of plugins are not compared, and there is no inject()',
  )
}

module.exports = Object.assign(absent, { coerce: absent, gt: absent, satisfies: absent })
