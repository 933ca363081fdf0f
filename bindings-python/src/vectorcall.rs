//! Calls without a tuple and a dict of the arguments, which would be most of the cost of a successful call.
//!
//! PyO3 has no such slot, so this file talks to the interpreter itself. The flag of the type
//! and `PyObject_Vectorcall` are in the stable ABI since Python 3.12, and in 3.11, which does not change any more, both are
//! the same. The function is looked up when the module is loaded, because a module for 3.10 must not be linked to it: there,
//! and wherever else it cannot be found, arguments are packed.
#![allow(unsafe_code)]

use pyo3::exceptions::{PyBaseException, PySystemError, PyTypeError};
use pyo3::ffi;
use pyo3::panic::PanicException;
use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::True;
use pyo3::types::{PyDict, PyTuple, PyType};
use pyo3::{Borrowed, PyClass, PyTypeInfo};
use std::ffi::{CStr, CString, c_int, c_uint, c_ulong, c_void};
use std::marker::PhantomData;
use std::mem::{size_of, transmute};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::OnceLock;

/// Objects have a function of their own to be called by.
const HAVE_VECTORCALL: c_ulong = 1 << 11;
/// `object.name(...)` need not make a bound method first.
const METHOD_DESCRIPTOR: c_ulong = 1 << 17;
/// Beside the number of arguments: the place before the first one may be written to.
const ARGUMENTS_OFFSET: usize = 1 << (usize::BITS - 1);

/// The result of a call: its value, or the error that it raised.
pub(crate) type Attempted<'py> = Result<Bound<'py, PyAny>, Bound<'py, PyBaseException>>;

/// The object that a call returns.
pub(crate) type Returned<'py> = PyResult<Bound<'py, PyAny>>;

/// A function, and the arguments to call it with.
#[derive(Clone, Copy)]
pub(crate) struct Invocation<'a, 'py> {
    pub(crate) function: &'a Bound<'py, PyAny>,
    pub(crate) with: Arguments<'a, 'py>,
    /// The number of the latest refusal of the caller's budgets before the first attempt.
    pub(crate) noted: u32,
}

impl<'py> Invocation<'_, 'py> {
    #[inline]
    pub(crate) fn run(&self) -> Attempted<'py> {
        self.with.call(self.function)
    }
}

/// The arguments of a call.
#[derive(Clone, Copy)]
pub(crate) enum Arguments<'a, 'py> {
    /// A tuple and a dict.
    Packed(&'a Bound<'py, PyTuple>, Option<&'a Bound<'py, PyDict>>),
    /// The interpreter's own array.
    Vector(Vector<'a, 'py>),
}

impl<'py> Arguments<'_, 'py> {
    #[inline]
    pub(crate) fn call(&self, function: &Bound<'py, PyAny>) -> Attempted<'py> {
        match self {
            Self::Packed(args, kwargs) => {
                let py = function.py();
                // Before Python 3.12 the error itself has no traceback until it is caught, which is here.
                function.call(*args, *kwargs).map_err(|raised| raised.into_value(py).into_bound(py))
            }
            Self::Vector(vector) => vector.call(function),
        }
    }

    /// A tuple and a dict that outlive the call.
    pub(crate) fn pack(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        match self {
            Self::Packed(args, kwargs) => Ok(((*args).clone(), kwargs.map_or_else(|| PyDict::new(py), Clone::clone))),
            Self::Vector(vector) => vector.pack(),
        }
    }
}

/// Arguments in an array of the interpreter's, the names of the last ones in a tuple: as in `PyObject_Vectorcall`, for as long as the
/// vector is used.
#[derive(Clone, Copy)]
pub(crate) struct Vector<'a, 'py> {
    args: *const *mut ffi::PyObject,
    count: usize,
    names: *mut ffi::PyObject,
    call: ffi::vectorcallfunc,
    array: PhantomData<&'a ()>,
    py: Python<'py>,
}

impl<'py> Vector<'_, 'py> {
    #[inline]
    pub(crate) fn call(&self, function: &Bound<'py, PyAny>) -> Attempted<'py> {
        // SAFETY: the array and the tuple come from the interpreter's call, which still runs.
        let value = unsafe { (self.call)(function.as_ptr(), self.args, self.count, self.names) };
        // SAFETY: it returns an object to own, or none and an error.
        unsafe { Bound::from_owned_ptr_or_opt(self.py, value) }.ok_or_else(|| caught(self.py))
    }

    /// A tuple of those without a name, and a dict of those with one.
    pub(crate) fn pack(&self) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        let py = self.py;
        // SAFETY: none, or the tuple of the names.
        let names = unsafe { Borrowed::from_ptr_or_opt(py, self.names) };
        let names: Vec<_> = names.map_or_else(|| Ok(Vec::new()), |names| names.try_iter()?.collect::<PyResult<_>>())?;
        let unnamed = self.count & !ARGUMENTS_OFFSET;
        // SAFETY: so many are there, and each is an object.
        let object = |index| unsafe { Borrowed::from_ptr(py, *self.args.add(index)) };
        let kwargs = PyDict::new(py);
        for (index, name) in names.iter().enumerate() {
            kwargs.set_item(name, object(unnamed + index))?;
        }
        Ok((PyTuple::new(py, (0..unnamed).map(object))?, kwargs))
    }
}

/// The error that is set, as an `except` clause has it. Much less work than to make a `PyErr` of it and take that apart.
#[cold]
fn caught(py: Python<'_>) -> Bound<'_, PyBaseException> {
    let (mut class, mut error, mut traceback) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    // SAFETY: places for what it says, each an object to own or none.
    let (class, error, traceback) = unsafe {
        ffi::PyErr_Fetch(&raw mut class, &raw mut error, &raw mut traceback);
        ffi::PyErr_NormalizeException(&raw mut class, &raw mut error, &raw mut traceback);
        let owned = |object| Bound::from_owned_ptr_or_opt(py, object);
        (owned(class), owned(error), owned(traceback))
    };
    drop(class);
    let Some(error) = error else {
        return PySystemError::new_err("a call returned nothing and raised nothing").into_value(py).into_bound(py);
    };
    if let Some(traceback) = traceback {
        // SAFETY: an error and its traceback. It cannot fail then.
        unsafe { ffi::PyException_SetTraceback(error.as_ptr(), traceback.as_ptr()) };
    }
    // SAFETY: nothing else is ever raised.
    unsafe { error.cast_into_unchecked() }
}

/// `PyObject_Vectorcall`, where it can be found.
#[inline]
fn function() -> Option<ffi::vectorcallfunc> {
    static FOUND: OnceLock<Option<ffi::vectorcallfunc>> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let found = symbol(c"PyObject_Vectorcall");
        // SAFETY: it has had this signature since it exists.
        (!found.is_null()).then(|| unsafe { transmute::<*mut c_void, ffi::vectorcallfunc>(found) })
    })
}

#[cfg(unix)]
pub(crate) fn symbol(name: &CStr) -> *mut c_void {
    // SAFETY: a name that ends, and a handle that stands for all that is loaded.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}

#[cfg(not(unix))]
pub(crate) fn symbol(_: &CStr) -> *mut c_void {
    ptr::null_mut()
}

/// Tells PyO3 that this thread is attached for as long as that runs (see [`Called`]).
#[inline]
pub(crate) fn counted<R>(_: Python<'_>, run: impl FnOnce() -> R) -> R {
    // SAFETY: a token proves that the thread is attached.
    unsafe { Python::attach_unchecked(|_| run()) }
}

/// The result for the interpreter: an owned object, or null and an error that is set.
#[inline]
fn answer<'py>(py: Python<'py>, run: impl FnOnce() -> Returned<'py>) -> *mut ffi::PyObject {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(value)) => value.into_ptr(),
        Ok(Err(error)) => failed(py, error),
        Err(_) => failed(py, PanicException::new_err("the module has a bug, which was written to stderr")),
    }
}

#[cold]
fn failed(py: Python<'_>, error: PyErr) -> *mut ffi::PyObject {
    error.restore(py);
    ptr::null_mut()
}

/// A class that calls functions for its users.
///
/// # Contract
/// The methods run attached, but PyO3 has not counted that: what drops a `Py` is to be [`counted`].
pub(crate) trait Calls: PyClass<Frozen = True> + PyTypeInfo + Sync {
    /// True if a first attempt is only a call of the function, a direct call.
    fn is_direct(&self) -> bool;

    /// The number of the latest refusal of its budgets.
    fn refusals(&self) -> u32;

    /// True if nothing follows that value of a direct call.
    fn is_done(&self, value: &Bound<'_, PyAny>) -> bool;

    /// Continues after the first attempt of a direct call.
    fn after<'py>(slf: &Bound<'py, Self>, first: Attempted<'py>, call: Invocation<'_, 'py>) -> Returned<'py>;

    /// Any other call. A decorated function is known to be no `async def`.
    fn calls<'py>(slf: &Bound<'py, Self>, call: Invocation<'_, 'py>, decorated: bool) -> Returned<'py>;

    /// A call whose arguments are packed.
    fn run<'py>(slf: &Bound<'py, Self>, call: Invocation<'_, 'py>, decorated: bool) -> Returned<'py> {
        let call = Invocation { noted: slf.get().refusals(), ..call };
        if !slf.get().is_direct() {
            return Self::calls(slf, call, decorated);
        }
        match call.run() {
            Ok(value) if slf.get().is_done(&value) => Ok(value),
            first => Self::after(slf, first, call),
        }
    }
}

/// A class whose objects are called for a function.
pub(crate) trait Called: PyClass<Frozen = True> + Sync {
    type Caller: Calls;

    /// The caller and the function.
    fn parts<'a, 'py>(&'a self, py: Python<'py>) -> Option<(&'a Bound<'py, Self::Caller>, &'a Bound<'py, PyAny>)>;
}

/// The arguments of `PyObject_Vectorcall`: an array, its length and flag, and the tuple of names.
type RawArguments = (*const *mut ffi::PyObject, usize, *mut ffi::PyObject);

/// Calls a function for a caller. While nothing fails, this is all the stack that a call takes, so that endless recursion
/// reaches Python's limit before the end of a small stack.
///
/// # Safety
/// The array and the tuple are as in `PyObject_Vectorcall`.
#[inline(always)]
unsafe fn run<C: Calls>(
    caller: &Bound<'_, C>,
    target: &Bound<'_, PyAny>,
    (args, count, names): RawArguments,
    decorated: bool,
) -> *mut ffi::PyObject {
    // SAFETY: this thread is attached, and what is entered is left.
    if unsafe { ffi::Py_EnterRecursiveCall(c" in a retried function".as_ptr()) } != 0 {
        return ptr::null_mut();
    }
    let direct = function().filter(|_| caller.get().is_direct());
    let noted = caller.get().refusals();
    let mut value = ptr::null_mut();
    let mut done = false;
    if let Some(call) = direct {
        // SAFETY: as the caller promises. The value is owned, or null and an error is set.
        value = unsafe { call(target.as_ptr(), args, count, names) };
        // SAFETY: borrowed from the value, which stays.
        done =
            unsafe { Borrowed::from_ptr_or_opt(caller.py(), value) }.is_some_and(|value| caller.get().is_done(&value));
    }
    if !done {
        // SAFETY: as the caller promises.
        value = unsafe { run_on(caller, target, (args, count, names), noted, direct.map(|_| value), decorated) };
    }
    // SAFETY: entered above.
    unsafe { ffi::Py_LeaveRecursiveCall() };
    value
}

/// Continues after a direct call, or makes any other call.
///
/// # Safety
/// The array and the tuple are as in `PyObject_Vectorcall`; the first value is owned, or null and an error is set.
#[cold]
#[inline(never)]
unsafe fn run_on<C: Calls>(
    caller: &Bound<'_, C>,
    target: &Bound<'_, PyAny>,
    (args, count, names): RawArguments,
    noted: u32,
    first: Option<*mut ffi::PyObject>,
    decorated: bool,
) -> *mut ffi::PyObject {
    let py = caller.py();
    answer(py, || {
        let Some(call) = function() else { return Err(PyTypeError::new_err("not called like that")) };
        let with = Arguments::Vector(Vector { args, count, names, call, array: PhantomData, py });
        let call = Invocation { function: target, with, noted };
        let Some(first) = first else { return C::calls(caller, call, decorated) };
        // SAFETY: as the caller promises.
        let first = unsafe { Bound::from_owned_ptr_or_opt(py, first) }.ok_or_else(|| caught(py));
        C::after(caller, first, call)
    })
}

unsafe extern "C" fn entry<T: Called>(
    object: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    count: usize,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: who calls this is attached, with an object of the class that it is the entry of.
    let (py, object) = unsafe {
        let py = Python::assume_attached();
        (py, Borrowed::from_ptr(py, object).cast_unchecked::<T>())
    };
    let Some((caller, function)) = object.get().parts(py) else { return no_function(py) };
    // SAFETY: the arguments are the entry's own.
    unsafe { run(caller, function, (args, count, names), true) }
}

#[cold]
#[inline(never)]
fn no_function(py: Python<'_>) -> *mut ffi::PyObject {
    failed(py, PyTypeError::new_err("this decorated function has no function"))
}

/// A class like that of `T` with the entry beside it, called `name`. Only [`Callable::make`] makes objects of it.
pub(crate) struct Callable {
    pub(crate) class: Py<PyType>,
    offset: usize,
    make: ffi::newfunc,
    entry: Option<ffi::vectorcallfunc>,
}

impl Callable {
    /// `T` must have a `#[new]`.
    pub(crate) fn of<T: Called>(py: Python<'_>, name: &'static CStr) -> PyResult<Self> {
        let base = T::type_object(py);
        let offset: usize = base.getattr("__basicsize__")?.extract()?;
        let size = offset + size_of::<Option<ffi::vectorcallfunc>>();
        // SAFETY: a class of PyO3's is one on the heap, and has these.
        let make = unsafe { ffi::PyType_GetSlot(base.as_type_ptr(), ffi::Py_tp_new) };
        if make.is_null() {
            return Err(PyTypeError::new_err("a class that is not made"));
        }
        let mut members = [
            ffi::PyMemberDef {
                name: c"__vectorcalloffset__".as_ptr(),
                type_code: ffi::Py_T_PYSSIZET,
                offset: offset as ffi::Py_ssize_t,
                flags: ffi::Py_READONLY,
                doc: ptr::null(),
            },
            ffi::PyMemberDef::default(),
        ];
        // `object.__call__` is the object itself, so that mocks find the signature of the function.
        let itself = ffi::PyGetSetDef { name: c"__call__".as_ptr(), get: Some(itself), ..ffi::PyGetSetDef::default() };
        let properties = Box::leak(Box::new([itself, ffi::PyGetSetDef::default()]));
        let mut slots = [
            ffi::PyType_Slot { slot: ffi::Py_tp_members, pfunc: members.as_mut_ptr().cast() },
            ffi::PyType_Slot { slot: ffi::Py_tp_getset, pfunc: properties.as_mut_ptr().cast() },
            ffi::PyType_Slot { slot: ffi::Py_tp_new, pfunc: not_made as *mut c_void },
            ffi::PyType_Slot::default(),
        ];
        let mut spec = ffi::PyType_Spec {
            name: name.as_ptr(),
            basicsize: size as c_int,
            itemsize: 0,
            flags: (ffi::Py_TPFLAGS_DEFAULT | HAVE_VECTORCALL | METHOD_DESCRIPTOR) as c_uint,
            slots: slots.as_mut_ptr(),
        };
        let bases = PyTuple::new(py, [base])?;
        // SAFETY: the spec is complete, and copied but for the name, which stays.
        let class =
            unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyType_FromSpecWithBases(&raw mut spec, bases.as_ptr()))? };
        // SAFETY: it has had this signature since it exists.
        let make = unsafe { transmute::<*mut c_void, ffi::newfunc>(make) };
        let entry = function().map(|_| entry::<T> as ffi::vectorcallfunc);
        Ok(Self { class: class.cast_into::<PyType>()?.unbind(), offset, make, entry })
    }

    /// An object of the class.
    pub(crate) fn make<'py>(&self, args: &Bound<'py, PyTuple>) -> Returned<'py> {
        let class = self.class.bind(args.py());
        // SAFETY: what makes objects of the base makes them of a class that is derived from it, and says so or why not.
        let object = unsafe {
            let object = (self.make)(class.as_type_ptr(), args.as_ptr(), ptr::null_mut());
            Bound::from_owned_ptr_or_err(args.py(), object)?
        };
        // SAFETY: the place was added behind those of the base, and nobody else has the object yet.
        unsafe { object.as_ptr().byte_add(self.offset).cast::<Option<ffi::vectorcallfunc>>().write(self.entry) };
        Ok(object)
    }
}

unsafe extern "C" fn itself(object: *mut ffi::PyObject, _: *mut c_void) -> *mut ffi::PyObject {
    // SAFETY: a property's object, borrowed for the call; the caller owns the result.
    unsafe { ffi::Py_NewRef(object) }
}

unsafe extern "C" fn not_made(
    _: *mut ffi::PyTypeObject,
    _: *mut ffi::PyObject,
    _: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: who calls this is attached.
    let py = unsafe { Python::assume_attached() };
    failed(py, PyTypeError::new_err("decorate a function to make one"))
}

unsafe extern "C" fn method<T: Calls>(
    object: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: who calls this is attached, with an object of the class that has the method.
    let (py, object) = unsafe {
        let py = Python::assume_attached();
        (py, Borrowed::from_ptr(py, object).cast_unchecked::<T>())
    };
    let Some(others) = (count as usize).checked_sub(1) else { return no_argument::<T>(py) };
    // SAFETY: the function is the first of them, and the others follow.
    unsafe { run(&object, &Borrowed::from_ptr(py, *args), (args.add(1), others, names), false) }
}

#[cold]
#[inline(never)]
fn no_argument<T: Calls>(py: Python<'_>) -> *mut ffi::PyObject {
    answer(py, || {
        let class = T::type_object(py).name()?;
        Err(PyTypeError::new_err(format!("{class}.call() missing 1 required positional argument: 'function'")))
    })
}

/// Has the method `call` of the class called without packing, where that is possible; it stays described as it is.
pub(crate) fn quicken<T: Calls>(py: Python<'_>) -> PyResult<()> {
    if function().is_none() {
        return Ok(());
    }
    let class = T::type_object(py);
    let packing = class.getattr("call")?;
    let (signature, doc) = (packing.getattr("__text_signature__")?, packing.getattr("__doc__")?);
    let doc = CString::new(format!("call{signature}\n--\n\n{doc}"))?;
    let definition = ffi::PyMethodDef {
        ml_name: c"call".as_ptr(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: method::<T> },
        ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
        ml_doc: doc.into_raw(),
    };
    // Kept for ever, as the class is.
    let definition = Box::leak(Box::new(definition));
    // SAFETY: the class is that of the objects that the method casts to.
    let quick = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyDescr_NewMethod(class.as_type_ptr(), definition))? };
    class.setattr("call", quick)
}
