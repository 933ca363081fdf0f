// A page that works in a worker.
const worker = new Worker("/worker.js", { type: "module" });
worker.onmessage = ({ data }) => {
  document.title = JSON.stringify(data);
};
worker.onerror = ({ message }) => {
  document.title = JSON.stringify(message);
};
