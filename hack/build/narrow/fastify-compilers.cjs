/** Compilers of Fastify for schemas of routes: the API brings its own for requests, and answers are written by no schema. */
module.exports = () => () => {
  throw new Error(
    'the compilers of Fastify are not in the bundle: give it one by setValidatorCompiler or setSerializerCompiler',
  )
}
