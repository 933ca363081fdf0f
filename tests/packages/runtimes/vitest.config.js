export default { test: { globals: true, include: ["*.vitest.js"] } };
